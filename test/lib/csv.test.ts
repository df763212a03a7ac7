import { describe, expect, test } from 'vitest';
import { csvLine } from '../../src/lib/csv.ts';

test.each([
  '\u0000=1',
  '\u0001\u001f=1',
  '\u007f+1',
  '\u0085-1',
  '\u009f@SUM(A1)',
  ' \u0008 =1',
  '\u202e=1',
  '\u3164=1',
  '\ufe0f＝1',
])('a formula after blanks and invisible characters gets an apostrophe: %j', (text) => {
  expect(csvLine([text])).toBe(`"'${text}"\r\n`);
});

test('an invisible character before harmless text changes nothing', () => {
  expect(csvLine(['\u0001a=1', '\u3164'])).toBe('"\u0001a=1","\u3164"\r\n');
});

describe('a line of CSV', () => {
  test('contains texts in quotes, numbers without them, and empty cells for null', () => {
    expect(csvLine(['a "b"', 'c,d\ne', -5, null])).toBe('"a ""b""","c,d\ne",-5,\r\n');
  });

  test('has decimals with a comma if semicolons separate the columns', () => {
    const cells = [1.5, { amount: 1200 }, { amount: 97.5 }, 1000, '1.5'];
    expect(csvLine(cells)).toBe('1.5,1200.00,97.50,1000,"1.5"\r\n');
    expect(csvLine(cells, ';')).toBe('1,5;1200,00;97,50;1000;"1.5"\r\n');
  });

  test('can be separated by semicolons', () => {
    expect(csvLine(['a', 'b;c', 5, null], ';')).toBe('"a";"b;c";5;\r\n');
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1', '＝1', '\u200b=1'])(
    'adds an apostrophe before the formula %j',
    (text) => {
      expect(csvLine([text])).toBe(`"'${text}"\r\n`);
    },
  );

  test('does not change harmless texts', () => {
    expect(csvLine(['n8n: a-b=c', 'x@y.example'])).toBe('"n8n: a-b=c","x@y.example"\r\n');
  });
});
