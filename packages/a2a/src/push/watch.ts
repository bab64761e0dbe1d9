import type { Json, Platform, Store, TaskKey, TaskWatch } from '@postern/core'
import { maxWatches, Undeliverable } from '@postern/core'
import { checkFetchUrl } from '@postern/http'
import type { A2aRejection } from '../format/errors.ts'
import { refuseField } from '../format/errors.ts'
import type { ProtocolVersion, WirePushConfig } from '../format/wire.ts'
import { makeTaskId } from '../tasks/lifetime.ts'

/** The content of our push subscription. */
export interface PushTarget {
  readonly url: string
  readonly token?: string
  readonly scheme?: string
  readonly credentials?: string
  /** A client of 0.3 named the receiver, so it gets the form of 0.3. */
  readonly version?: '0.3'
}

interface WatchPlace {
  readonly key: TaskKey
  /** That the client speaks. */
  readonly version: ProtocolVersion
  /** The names of the task and the address in the request. */
  readonly fields: { readonly task: string; readonly url: string }
}

type WatchDeps = {
  readonly store: Pick<Store, 'listWatches'>
  readonly platform: Pick<Platform, 'checkUrl' | 'now' | 'randomBytes'>
}

/**
 * Converts a checked configuration to a subscription. The operator sees only the receiver's origin, because the rest may be a secret.
 * @throws A2aRejection `invalidParams` for a forbidden address, and when the task's other subscriptions leave no capacity
 */
export async function createWatch(
  config: WirePushConfig,
  { key, version, fields }: WatchPlace,
  { store, platform }: WatchDeps,
): Promise<TaskWatch> {
  const { url, token, authentication } = config
  const { origin, href } = checkPushUrl(url, platform, fields.url)
  const id = config.id || makeTaskId(platform)
  const target: PushTarget = {
    url: href,
    ...(token && { token }),
    ...(authentication && { scheme: authentication.scheme }),
    ...(authentication?.credentials && { credentials: authentication.credentials }),
    ...(version === '0.3' && { version }),
  }
  const to = `${origin}/#${key.id}/${encodeURIComponent(id)}`
  const watch = { id, to, target: target as unknown as Json }
  checkQuota(await store.listWatches(key), watch, fields)
  return watch
}

/** The checks of an address that need no DNS. Networks that the operator opened are open here, too. */
function checkPushUrl(url: string, { checkUrl = checkFetchUrl }: WatchDeps['platform'], field: string): URL {
  try {
    return checkUrl(url)
  } catch (cause) {
    if (!(cause instanceof Undeliverable)) throw cause
    throw refusePush(field, 'is not an address notifications are sent to', { cause })
  }
}

/** Configurations of one task at one origin. The receiver need not have asked for notifications, and each one goes to all of them. */
const mostAtOrigin = 3

function checkQuota(watches: readonly TaskWatch[], watch: TaskWatch, fields: WatchPlace['fields']): void {
  const others = watches.filter(({ id }) => id !== watch.id)
  if (others.length >= maxWatches) throw refuseMore(fields.task)
  const originOf = ({ to }: TaskWatch) => new URL(to).origin
  if (others.filter(other => originOf(other) === originOf(watch)).length < mostAtOrigin) return
  throw refusePush(
    fields.url,
    `is at an origin that has ${mostAtOrigin} push notification configs of this task already`,
  )
}

export function refuseMore(field: string): A2aRejection {
  return refusePush(field, `has ${maxWatches} push notification configs already`)
}

function refusePush(field: string, description: string, options?: ErrorOptions): A2aRejection {
  return refuseField('Cannot set push notification config', field, description, options)
}

/** The form for its owner: enough to tell subscriptions apart, without credentials. */
export function showWatch({ id, target }: TaskWatch, taskId: string): object {
  const { url, token, scheme } = readPushTarget(target)
  return { id, taskId, url, ...(token && { token }), ...(scheme && { authentication: { scheme } }) }
}

export function readPushTarget(target: Json): PushTarget {
  return target as unknown as PushTarget
}
