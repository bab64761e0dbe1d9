// Delays the store accesses of a turn until its message is durable.
import type { TurnContext } from '../../ports/turn/turn-context.ts'

/** The functions of the store that neither read nor write rows of the message. */
const immediateMembers: ReadonlySet<PropertyKey> = new Set(['listen', 'notify', 'now', 'refuse', 'noteLookup'])

/**
 * Returns the context of a turn that begins before its message is durable. Its agent may answer at once. Everything else that reads or writes rows, or
 * that calls another agent, waits for the message. If the message cannot be stored, these operations fail with `LeaseLost`.
 */
export function waitForMessage(context: TurnContext, whenStored: Promise<void>): TurnContext {
  const { store, results, readAttachment, callAgent } = context
  return {
    ...context,
    store: waitInMembers(store, whenStored),
    results: {
      // The store decides whether the answer is stored together with the message.
      commit: results.commit,
      release: (...args) => whenStored.then(() => results.release(...args)),
      storeStreamedAnswer: (...args) => whenStored.then(() => results.storeStreamedAnswer(...args)),
    },
    readAttachment: (...args) => whenStored.then(() => readAttachment(...args)),
    ...(callAgent && { callAgent: (...args) => whenStored.then(() => callAgent(...args)) }),
  }
}

function waitInMembers<Store extends object>(store: Store, whenStored: Promise<void>): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function' || immediateMembers.has(name)) return member
      return (...args: unknown[]) => whenStored.then(() => Reflect.apply(member, target, args))
    },
  })
}
