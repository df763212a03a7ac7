import { testMapping } from './conformance.ts';
import { fakeConnectWise } from './fake-connectwise.ts';

testMapping(fakeConnectWise);
