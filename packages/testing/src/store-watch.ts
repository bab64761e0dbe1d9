// Wraps a store so that tests can delay or fail its admissions.
import type { Store } from '@postern/pipeline'

export interface ProtocolSetup {
  /** Wraps the store on its way into the protocol, so that the contract also examines a failing store. */
  watchStore(store: Store): Store
}

/** A wrapper of a store whose admissions a test can delay or fail. */
interface StoreWatch extends ProtocolSetup {
  isWatching(): boolean
  /** Makes the next admission fail without storing anything. */
  failNextAdmission(): void
  /** Delays the end of admissions until `release` is called. */
  holdAdmissions(): { readonly started: Promise<void>; release(): void }
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
      const started = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      beforeAdmission = () => {
        started.resolve()
        return released.promise
      }
      return {
        started: started.promise,
        release() {
          beforeAdmission = undefined
          released.resolve()
        },
      }
    },
  }
}
