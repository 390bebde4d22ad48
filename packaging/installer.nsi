; The installer: for one user, without an administrator. The data folder is never touched, neither when the program is
; replaced nor when it is removed.
;   makensis -DPROJECT=FILE -DBUNDLE=FOLDER -DICON=FILE -DOUTPUT=FILE installer.nsi
; PROJECT is what "python packaging/bundle.py" prints, BUNDLE and ICON are what pyinstaller.spec makes.

Target amd64-unicode
Unicode true
SetCompressor /SOLID lzma
; Larger than one program: the three hold the same modules, which are then stored once.
SetCompressorDictSize 64
RequestExecutionLevel user
ManifestDPIAware true

!include "${PROJECT}"

!define NAME "Praxis Console"
!define PUBLISHER "Praxis Console contributors"
!define APPLICATION_ID "Praxis.Console"   ; as in app/main.py: Windows groups windows and notifications by it
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\PraxisConsole"
!define SHORTCUT "$SMPROGRAMS\${NAME}.lnk"
!define DATA "$LOCALAPPDATA\${NAME}"

!include "MUI2.nsh"
!include "FileFunc.nsh"
!include "Win\COM.nsh"
!include "Win\Propkey.nsh"

Name "${NAME}"
BrandingText "${NAME} ${VERSION}"
OutFile "${OUTPUT}"
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
VIProductVersion "${NUMBERS}"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${NAME} Setup"
VIAddVersionKey "CompanyName" "${PUBLISHER}"
VIAddVersionKey "LegalCopyright" "${COPYRIGHT}"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_ABORTWARNING
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_LICENSE "${BUNDLE}\_internal\licences\LICENSE.txt"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\praxis-console.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start ${NAME}"
!insertmacro MUI_PAGE_FINISH
!define MUI_UNCONFIRMPAGE_TEXT_TOP "This removes the program. Your data stays: work orders, evidence and backups in ${DATA}"
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; Files of a running program cannot be replaced. The console is asked to quit as its person would quit it; if anything
; runs it asks that person, so the answer may be no. Then the libraries are set aside by one rename, which Windows refuses
; while praxis or an agent still uses any of them: either all of the old program goes or none of it.
!macro MakeFree prefix
  Function ${prefix}MakeFree
    IfFileExists "$INSTDIR\praxis-console.exe" 0 quitted
    again:
      ExecWait '"$INSTDIR\praxis-console.exe" --quit' $0
      IntCmp $0 0 quitted
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "${NAME} still runs. Quit it, then try again." /SD IDCANCEL IDRETRY again
      SetErrorLevel 4
      Abort "${NAME} still runs."
    quitted:
    RMDir /r "$INSTDIR\_internal.old"
    IfFileExists "$INSTDIR\_internal\*.*" 0 free
    set_aside:
      ClearErrors
      Rename "$INSTDIR\_internal" "$INSTDIR\_internal.old"
      IfErrors 0 free
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "praxis or an agent still uses ${NAME}. End it, then try again." /SD IDCANCEL IDRETRY set_aside
      SetErrorLevel 4
      Abort "Files are in use."
    free:
    RMDir /r "$INSTDIR\_internal.old"
  FunctionEnd
!macroend
!insertmacro MakeFree ""
!insertmacro MakeFree "un."

Section
  Call MakeFree
  SetOutPath "$INSTDIR"
  File /r "${BUNDLE}\*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "${SHORTCUT}" "$INSTDIR\praxis-console.exe" "" "$INSTDIR\praxis-console.exe" 0
  Call SetApplicationId
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\praxis-console.exe"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "${PUBLISHER}"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" $0
SectionEnd

; Notifications and the pinned icon belong to the shortcut with the id that the program gives itself.
Function SetApplicationId
  !insertmacro ComHlpr_CreateInProcInstance ${CLSID_ShellLink} ${IID_IShellLink} r0 ""
  ${If} $0 P<> 0
    ${IUnknown::QueryInterface} $0 '("${IID_IPersistFile}",.r1)'
    ${If} $1 P<> 0
      ${IPersistFile::Load} $1 '("${SHORTCUT}",${STGM_READWRITE})'
      ${IUnknown::QueryInterface} $0 '("${IID_IPropertyStore}",.r2)'
      ${If} $2 P<> 0
        System::Call '*(&w64 "${APPLICATION_ID}")p.r3'
        System::Call '*${SYSSTRUCT_PROPERTYKEY}(${PKEY_AppUserModel_ID})p.r4'
        System::Call '*${SYSSTRUCT_PROPVARIANT}(${VT_LPWSTR},,p r3)p.r5'
        ${IPropertyStore::SetValue} $2 '($4,$5)'
        System::Free $3
        System::Free $4
        System::Free $5
        ${IPropertyStore::Commit} $2 ""
        ${IUnknown::Release} $2 ""
        ${IPersistFile::Save} $1 '("${SHORTCUT}",1)'
      ${EndIf}
      ${IUnknown::Release} $1 ""
    ${EndIf}
    ${IUnknown::Release} $0 ""
  ${EndIf}
FunctionEnd

Section "Uninstall"
  Call un.MakeFree
  Delete "$INSTDIR\praxis-console.exe"
  Delete "$INSTDIR\praxis-console-debug.exe"
  Delete "$INSTDIR\praxis.exe"
  Delete "$INSTDIR\uninstall.exe"
  ; Only if it is empty: somebody may keep files of their own in it.
  RMDir "$INSTDIR"
  Delete "${SHORTCUT}"
  DeleteRegKey HKCU "${UNINSTALL}"
  DetailPrint "Your data stays in ${DATA}"
  IfFileExists "${DATA}\*.*" 0 done
    MessageBox MB_OK|MB_ICONINFORMATION "The program was removed. Your data was not: work orders, evidence and backups stay in$\r$\n$\r$\n${DATA}$\r$\n$\r$\nDelete that folder yourself if you want no more of it." /SD IDOK
  done:
SectionEnd
