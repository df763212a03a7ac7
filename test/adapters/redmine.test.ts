import { testMapping } from './conformance.ts';
import { fakeRedmine } from './fake-redmine.ts';

testMapping(fakeRedmine);
