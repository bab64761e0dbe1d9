// Checks and renders the push notification configs of callers.
import { checkFetchUrl } from '@postern/http'
import type { Json, ParsedUrl, System } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { Store, TaskKey, TaskWatch } from '@postern/pipeline'
import { maxWatches } from '@postern/pipeline'
import type { A2aRejection } from '../format/errors.ts'
import { refuseField } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/wire.ts'
import { createTaskId } from '../tasks/task-id.ts'
import type { PushConfig } from '../validate/params.ts'

/** A push notification config as it is stored. */
export interface PushTarget {
  readonly url: string
  readonly token?: string
  readonly scheme?: string
  readonly credentials?: string
  /** Present if a client of A2A 0.3 named the receiver, which then gets the wire format of 0.3. */
  readonly version?: '0.3'
}

interface PushConfigContext {
  readonly key: TaskKey
  /** The version of A2A that the client speaks. */
  readonly version: ProtocolVersion
  /** The request's field names for the task and the URL, for error messages. */
  readonly fields: { readonly task: string; readonly url: string }
}

type PushConfigDeps = {
  readonly store: Pick<Store, 'listWatches'>
  readonly system: Pick<System, 'push' | 'now' | 'randomBytes'>
}

/**
 * Converts a config to the watch that is stored. The operator sees only the receiver's origin, because the path may be a secret.
 * @throws A2aRejection `invalidParams` for a forbidden URL, and if the task has too many other configs
 */
export async function createPushConfig(
  config: PushConfig,
  { key, version, fields }: PushConfigContext,
  { store, system }: PushConfigDeps,
): Promise<TaskWatch> {
  const { url, token, authentication } = config
  const { origin, href } = checkPushUrl(url, system, fields.url)
  const id = config.id || createTaskId(system)
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

/** Checks the URL without a DNS query; the resolved address is checked on delivery. Only `network.allow_private_push` allows private addresses. */
function checkPushUrl(url: string, { push }: PushConfigDeps['system'], field: string): ParsedUrl {
  try {
    return push ? push.checkUrl(url) : checkFetchUrl(url)
  } catch (cause) {
    if (!(cause instanceof Undeliverable)) throw cause
    throw refusePush(field, 'is not an address notifications are sent to', { cause })
  }
}

/**
 * The most configs of one task at one origin. Each notification is sent to all of them, although the receiver may not have asked for any.
 */
const maxConfigsPerOrigin = 3

function checkQuota(watches: readonly TaskWatch[], watch: TaskWatch, fields: PushConfigContext['fields']): void {
  const otherWatches = watches.filter(({ id }) => id !== watch.id)
  if (otherWatches.length >= maxWatches) throw refuseTooManyConfigs(fields.task)
  const originOf = ({ to }: TaskWatch) => new URL(to).origin
  if (otherWatches.filter(otherWatch => originOf(otherWatch) === originOf(watch)).length < maxConfigsPerOrigin) return
  throw refusePush(
    fields.url,
    `is at an origin that has ${maxConfigsPerOrigin} push notification configs of this task already`,
  )
}

export function refuseTooManyConfigs(field: string): A2aRejection {
  return refusePush(field, `has ${maxWatches} push notification configs already`)
}

function refusePush(field: string, description: string, options?: ErrorOptions): A2aRejection {
  return refuseField('Cannot set push notification config', field, description, options)
}

/** Renders a config for its owner without credentials, but with enough to distinguish it from others. */
export function renderPushConfig({ id, target }: TaskWatch, taskId: string): object {
  const { url, token, scheme } = readPushTarget(target)
  return { id, taskId, url, ...(token && { token }), ...(scheme && { authentication: { scheme } }) }
}

export function readPushTarget(target: Json): PushTarget {
  return target as unknown as PushTarget
}
