import { describe, expect, test } from 'vitest';
import { fieldErrors, strictObject } from '../../src/domain/fields.ts';

describe('the error for an unknown field', () => {
  const errorFor = (name: string) => {
    const { error } = strictObject({}).safeParse({ [name]: 1 });
    return error && fieldErrors(error)[0];
  };

  test('the pointer contains the whole name, and the detail its beginning', () => {
    const error = errorFor(`~/${'n'.repeat(198)}`);
    expect(error).toMatchObject({ pointer: `/~0~1${'n'.repeat(198)}`, code: 'unknown_field' });
    expect(error?.detail).toMatch(/^~\/n{38}… /);
  });

  test('the error references even an empty name', () => {
    expect(errorFor('')).toMatchObject({ pointer: '/', code: 'unknown_field', detail: expect.stringMatching(/^"" /) });
  });

  test('the error stays small, however long the name is', () => {
    expect(errorFor('n'.repeat(100_000))?.pointer).toBe(`/${'n'.repeat(200)}…`);
  });
});
