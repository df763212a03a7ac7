import { describe, expect, test } from 'vitest';
import { parseRequestLimit, type RequestLimit, requestLimitInWords } from '../../src/domain/request-limit.ts';

const requestLimit = (quota: number, windowMs: number): RequestLimit => ({ quota, windowMs });

describe('a requestLimit', () => {
  test('a request limit is written quota/window', () => {
    expect(parseRequestLimit('200/10s')).toEqual(requestLimit(200, 10_000));
    expect(parseRequestLimit('1/1s')).toEqual(requestLimit(1, 1_000));
    expect(parseRequestLimit('10000/10s')).toEqual(requestLimit(10_000, 10_000));
  });

  test.each([
    '',
    '200',
    '200/10',
    '0/10s',
    '10001/10s',
    '200/0s',
    '200/11s',
    '200/10m',
    '-1/10s',
    '1.5/10s',
    ' 200/10s',
  ])('the request limit %j is refused', (text) => {
    expect(() => parseRequestLimit(text)).toThrow(`"${text}" is not a rate limit`);
  });

  test.each([
    ['1200/10s', '1,200 requests in any 10 seconds'],
    ['1/1s', '1 request in any second'],
  ])('the request limit %s is in words: %s', (text, words) => {
    expect(requestLimitInWords(parseRequestLimit(text))).toBe(words);
  });
});
