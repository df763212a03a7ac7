import { expect, test } from 'vitest';
import { FACTS } from '../../../src/domain/facts.ts';
import { alertData, messageType } from '../../../src/modules/alerts/alert.ts';
import alerts from '../../../src/modules/alerts/docs/alerts.md?raw';
import { codesOfPage } from '../../support/recipes.ts';

test('the example of an alert is the alert that the service sends', () => {
  const keyExpiresAt = Date.parse('2026-12-06T05:00:00Z');
  const id = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073';
  const fact = { organizationId: 'northwind', subject: id, level: 1, count: 0, lastAt: null, detail: null };
  const key = { keyId: id, keyName: 'n8n: triage', keyHint: 'twb_Ab12…x9Yz', keyExpiresAt };
  const since = Date.parse('2026-11-22T05:00:00Z');
  const [example] = codesOfPage(alerts.replace(/<!-- include: .+ -->/, ''), '')[0]?.versions ?? [];
  expect(JSON.parse(example?.text ?? '')).toEqual({
    type: messageType('key_expiring'),
    timestamp: '2026-11-23T03:17:00.000Z',
    data: alertData({ type: 'key_expiring', kind: FACTS.key_expiring, ...fact, ...key, since }, undefined),
  });
});
