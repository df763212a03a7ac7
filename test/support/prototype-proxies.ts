/** Proxies of the prototype of a class. */
const wrapped = new WeakSet<object>();
let installed: ProxyConstructor | undefined;

/** Whether the object is the prototype that its class has now. */
const isPrototype = (object: object) =>
  Object.getOwnPropertyDescriptor(object, 'constructor')?.value?.prototype === object;

/**
 * Lets the prototype of a class be wrapped in a proxy once at most. The runner of these tests wraps
 * the prototype of a Durable Object class again for each object, so that every call takes longer
 * the more objects there are: a run of all tests takes an hour instead of minutes.
 * Source: issue 15092 of cloudflare/workers-sdk, solved in the package that follows this one,
 * `@cloudflare/vitest-plugin`.
 */
export function wrapPrototypesOnce(): void {
  if (globalThis.Proxy === installed) return;
  installed = new Proxy(globalThis.Proxy, {
    construct(target, [object, handler], newTarget) {
      if (wrapped.has(object)) return object;
      const proxy = Reflect.construct(target, [object, handler], newTarget);
      if (isPrototype(object)) wrapped.add(proxy);
      return proxy;
    },
  });
  globalThis.Proxy = installed;
}
