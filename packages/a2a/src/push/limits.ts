import type { World } from '@postern/core'
import { maxWatches } from '@postern/core'
import { checkFetchUrl } from '@postern/http'
import { A2aRejection } from '../errors.ts'
import type { CheckUrl } from './watch.ts'

/** The stage of the guard that asks no DNS; what the operator has opened is open here too. */
export function urlCheckOf({ checkUrl = checkFetchUrl }: Pick<World, 'checkUrl'>): CheckUrl {
  return url => checkUrl(url)
}

export function refuseMore(field: string): A2aRejection {
  const description = `has ${maxWatches} push notification configs already`
  const violations = [{ field, description }]
  return new A2aRejection('invalidParams', `Cannot set push notification config: ${field} ${description}`, {
    violations,
  })
}
