import type { Platform, TaskWatch } from '@postern/core'
import { maxWatches } from '@postern/core'
import { checkFetchUrl } from '@postern/http'
import { A2aRejection } from '../format/errors.ts'
import type { CheckUrl } from './watch.ts'

/** The checks of an address that need no DNS. Networks that the operator opened are open here, too. */
export function urlCheckOf({ checkUrl = checkFetchUrl }: Pick<Platform, 'checkUrl'>): CheckUrl {
  return url => checkUrl(url)
}

/** Configurations of one task at one origin. The receiver need not have asked for notifications, and each one goes to all of them. */
const mostAtOrigin = 3

/** @throws A2aRejection `invalidParams` when the task's `watches` leave no capacity; `fields` name the task and the address */
export function checkQuota(
  watches: readonly TaskWatch[],
  watch: TaskWatch,
  fields: { readonly task: string; readonly url: string },
): void {
  const others = watches.filter(({ id }) => id !== watch.id)
  if (others.length >= maxWatches) throw refuseMore(fields.task)
  const originOf = ({ to }: TaskWatch) => new URL(to).origin
  if (others.filter(other => originOf(other) === originOf(watch)).length < mostAtOrigin) return
  const description = `is at an origin that has ${mostAtOrigin} push notification configs of this task already`
  const violations = [{ field: fields.url, description }]
  throw new A2aRejection('invalidParams', `Cannot set push notification config: ${fields.url} ${description}`, {
    violations,
  })
}

export function refuseMore(field: string): A2aRejection {
  const description = `has ${maxWatches} push notification configs already`
  const violations = [{ field, description }]
  return new A2aRejection('invalidParams', `Cannot set push notification config: ${field} ${description}`, {
    violations,
  })
}
