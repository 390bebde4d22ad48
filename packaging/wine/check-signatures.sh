#!/usr/bin/env bash
# check-signatures.sh FOLDER: every program and library of the Windows Python in FOLDER is signed, and what is Python is
# signed by the Python Software Foundation. Signatures must hold against the root certificates of this machine, or against
# one root of Microsoft that Debian does not have; it is taken from a signature and known by its digest.
set -euo pipefail
folder=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

microsoft_root=f40042e2e5f7e8ef8189fed15519aece42c3bfa2
osslsigncode extract-signature -pem -in "$folder/python.exe" -out "$scratch/signature.pem" >/dev/null
openssl pkcs7 -in "$scratch/signature.pem" -print_certs |
    awk -v folder="$scratch" '/BEGIN/ {number++} /BEGIN/, /END/ {print > folder "/certificate-" number ".pem"}'
cp /etc/ssl/certs/ca-certificates.crt "$scratch/roots.pem"
for certificate in "$scratch"/certificate-*.pem; do
    digest=$(openssl x509 -in "$certificate" -noout -fingerprint -sha1 | sed 's/.*=//; s/://g' | tr 'A-F' 'a-f')
    [ "$digest" != "$microsoft_root" ] || cat "$certificate" >>"$scratch/roots.pem"
done

count=0
while IFS= read -r -d '' file; do
    case $(basename "$file") in
    # Microsoft's runtime is signed under a root that neither Debian nor these signatures hold. It is still covered by
    # the digest of the archive.
    vcruntime*.dll) continue ;;
    # Templates of programs that venv copies; they are not shipped.
    venvlauncher.exe | venvwlauncher.exe) continue ;;
    esac
    osslsigncode verify -ignore-crl -CAfile "$scratch/roots.pem" -TSA-CAfile "$scratch/roots.pem" -in "$file" \
        >"$scratch/answer" 2>&1 || {
        echo "$file is not signed as it should be:" >&2
        cat "$scratch/answer" >&2
        exit 1
    }
    grep -q 'Subject: .*O=Python Software Foundation' "$scratch/answer" || {
        echo "$file is signed by somebody else." >&2
        exit 1
    }
    count=$((count + 1))
done < <(find "$folder" -type f \( -name '*.exe' -o -name '*.dll' -o -name '*.pyd' \) -print0)
[ "$count" -gt 20 ] || {
    echo "Only $count files were found in $folder." >&2
    exit 1
}
echo "         $count files are signed by the Python Software Foundation"
