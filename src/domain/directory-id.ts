/**
 * 1 to 64 characters that need no escaping in a URL (RFC 3986 §2.3), except the path segments `.` and `..`: the first
 * character that is not a dot is the first, second or third. No lookahead, because Go (RE2) cannot compile one.
 */
export const DIRECTORY_ID =
  /^(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}|\.[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,62}|\.\.[A-Za-z0-9._~-]{1,62})$/;
