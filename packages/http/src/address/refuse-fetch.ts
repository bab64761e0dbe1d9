// Creates the error of a fetch that the gateway refuses.
import { Undeliverable } from '@postern/message'

export function refuseFetch(reason: string, options?: ErrorOptions): Undeliverable {
  return new Undeliverable(`Cannot fetch: ${reason}`, options)
}
