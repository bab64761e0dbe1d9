import type { Desk } from '@postern/core'

export interface ProtocolSetup {
  /** Hand the desk through this on its way into the protocol: the contract then also examines what a failing desk does. */
  watchDesk(desk: Desk): Desk
}

/** A desk in between, whose admissions can be made to wait or to fail. */
export interface DeskWatch extends ProtocolSetup {
  isWatching(): boolean
  /** The next admission ends in an error, nothing stored. */
  failNextAdmission(): void
  /** Admissions begin but do not end until released. */
  holdAdmissions(): { readonly begun: Promise<void>; release(): void }
}

export function createDeskWatch(): DeskWatch {
  let isWatching = false
  let beforeAdmission: (() => Promise<void>) | undefined
  return {
    watchDesk(desk) {
      isWatching = true
      const admit: Desk['admit'] = async (intake, correlationId) => {
        await beforeAdmission?.()
        return desk.admit(intake, correlationId)
      }
      return new Proxy(desk, {
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
