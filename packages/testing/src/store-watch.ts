import type { Store } from '@postern/core'

export interface ProtocolSetup {
  /** Hand the store through this on its way into the protocol: the contract then also examines what a failing store does. */
  watchStore(store: Store): Store
}

/** A store in between, whose admissions can be made to wait or to fail. */
interface StoreWatch extends ProtocolSetup {
  isWatching(): boolean
  /** The next admission ends in an error, nothing stored. */
  failNextAdmission(): void
  /** Admissions begin but do not end until released. */
  holdAdmissions(): { readonly begun: Promise<void>; release(): void }
}

export function createStoreWatch(): StoreWatch {
  let isWatching = false
  let beforeAdmission: (() => Promise<void>) | undefined
  return {
    watchStore(store) {
      isWatching = true
      const admit: Store['admit'] = async (intake, correlationId) => {
        await beforeAdmission?.()
        return store.admit(intake, correlationId)
      }
      return new Proxy(store, {
        get(target, member) {
          if (member === 'admit') return admit
          const value: unknown = Reflect.get(target, member, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
    isWatching: () => isWatching,
    failNextAdmission() {
      beforeAdmission = async () => {
        beforeAdmission = undefined
        throw new Error('the disk is full')
      }
    },
    holdAdmissions() {
      const begun = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      beforeAdmission = () => {
        begun.resolve()
        return released.promise
      }
      return {
        begun: begun.promise,
        release() {
          beforeAdmission = undefined
          released.resolve()
        },
      }
    },
  }
}
