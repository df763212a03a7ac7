/** 1 to 64 characters that need no escaping in a URL (RFC 3986 §2.3), except the path segments `.` and `..`. */
export const DIRECTORY_ID = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,64}$/;
