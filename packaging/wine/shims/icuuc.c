/* icuuc.dll, for Wine only. Windows 10 has a character converter of that name; Qt looks for converters of rare text
   encodings in it. This one says that there are none. It never gets into the bundle. */

#define EXPORTED __declspec(dllexport)

enum { NOT_FOUND = 4 };

EXPORTED void *ucnv_open(const char *name, int *error) {
    (void)name;
    if (error)
        *error = NOT_FOUND;
    return 0;
}

#define NOTHING(name) \
    EXPORTED void *name(void) { return 0; }

NOTHING(UCNV_FROM_U_CALLBACK_SUBSTITUTE)
NOTHING(UCNV_TO_U_CALLBACK_SUBSTITUTE)
NOTHING(ucnv_cbFromUWriteUChars)
NOTHING(ucnv_cbToUWriteUChars)
NOTHING(ucnv_close)
NOTHING(ucnv_countAvailable)
NOTHING(ucnv_fromUCountPending)
NOTHING(ucnv_fromUnicode)
NOTHING(ucnv_getAvailableName)
NOTHING(ucnv_getFromUCallBack)
NOTHING(ucnv_getMaxCharSize)
NOTHING(ucnv_getName)
NOTHING(ucnv_getStandardName)
NOTHING(ucnv_getToUCallBack)
NOTHING(ucnv_reset)
NOTHING(ucnv_setFromUCallBack)
NOTHING(ucnv_setToUCallBack)
NOTHING(ucnv_toUCountPending)
NOTHING(ucnv_toUnicode)
