/* bcryptprimitives.dll, for Wine 8 only, which has none. Programs written in Rust, such as pydantic, take their random
   numbers from it; here they come from the system's older function for that. It never gets into the bundle. */

__declspec(dllimport) unsigned char SystemFunction036(void *buffer, unsigned long length); /* RtlGenRandom */

__declspec(dllexport) int ProcessPrng(unsigned char *buffer, unsigned long long length) {
    const unsigned long most = 1ul << 30;
    while (length > 0) {
        unsigned long part = length > most ? most : (unsigned long)length;
        if (!SystemFunction036(buffer, part))
            return 0;
        buffer += part;
        length -= part;
    }
    return 1;
}
