import { expect, test } from 'vitest';
import { FACTS } from '../../../src/domain/facts.ts';
import { alertText } from '../../../src/modules/alerts/alert.ts';
import alerts from '../../../src/modules/alerts/docs/alerts.md?raw';
import { alertMessage } from '../../../src/modules/alerts/outlets.ts';
import sample from '../../../src/modules/push/assets/docs/psa/samples/alert.json';
import { codesOfPage } from '../../support/recipes.ts';

test('the example and the sample of an alert are the alert that the service sends', () => {
  const organizationId = 'northwind';
  const [keyId, keyHint] = ['01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073', 'twb_Ab12…x9Yz'];
  const key = { keyId, keyName: 'n8n: triage', keyHint, keyExpiresAt: Date.parse('2026-12-06T05:00:00Z') };
  const since = Date.parse('2026-11-22T05:00:00Z');
  const others = { count: 0, isMinimum: 0, lastAt: null, sourceAddress: null, failure: null, limitInWords: null };
  const fact = { organizationId, subject: keyId, ...key, level: 1, ...others, since };
  const text = alertText({ type: 'key_expiring', kind: FACTS.key_expiring, ...fact }, undefined);
  const message = alertMessage({ organizationId, foundAt: Date.parse('2026-11-22T03:17:00Z'), text });
  const [example] = codesOfPage(alerts, '')[0]?.versions ?? [];
  expect(JSON.parse(example?.text ?? '')).toEqual(message);
  expect(sample).toEqual(message);
});
