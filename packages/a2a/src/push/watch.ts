import type { Json, TaskWatch } from '@postern/core'
import { Undeliverable } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { ProtocolVersion, WirePushConfig } from '../format/wire.ts'

/** The content of our push subscription. */
export interface PushTarget {
  readonly url: string
  readonly token?: string
  readonly scheme?: string
  readonly credentials?: string
  /** A client of 0.3 named the receiver, so it gets the form of 0.3. */
  readonly version?: '0.3'
}

/** Checks an address without asking any DNS. @throws Undeliverable */
export type CheckUrl = (url: string) => URL

interface WatchDeps {
  readonly taskId: string
  /** The id for a client that names none. */
  readonly id: string
  /** The client's token. */
  readonly version: ProtocolVersion
  readonly checkUrl: CheckUrl
  /** The name of the member in the request. */
  readonly field: string
}

/**
 * Converts a checked configuration to a subscription. The operator sees only the receiver's origin, because the rest may be a secret.
 * @throws A2aRejection `invalidParams` for a forbidden address
 */
export function toWatch(config: WirePushConfig, { taskId, id, version, checkUrl, field }: WatchDeps): TaskWatch {
  const { url, token, authentication } = config
  const { origin, href } = checkPushUrl(url, checkUrl, field)
  const named = config.id || id
  const target: PushTarget = {
    url: href,
    ...(token && { token }),
    ...(authentication && { scheme: authentication.scheme }),
    ...(authentication?.credentials && { credentials: authentication.credentials }),
    ...(version === '0.3' && { version }),
  }
  return { id: named, to: `${origin}/#${taskId}/${encodeURIComponent(named)}`, target: target as unknown as Json }
}

function checkPushUrl(url: string, checkUrl: CheckUrl, field: string): URL {
  try {
    return checkUrl(url)
  } catch (cause) {
    if (!(cause instanceof Undeliverable)) throw cause
    const description = 'is not an address notifications are sent to'
    const violations = [{ field, description }]
    throw new A2aRejection('invalidParams', `Cannot set push notification config: ${field} ${description}`, {
      violations,
      cause,
    })
  }
}

/** The form for its owner: enough to tell subscriptions apart, without credentials. */
export function showWatch({ id, target }: TaskWatch, taskId: string): object {
  const { url, token, scheme } = readPushTarget(target)
  return { id, taskId, url, ...(token && { token }), ...(scheme && { authentication: { scheme } }) }
}

export function readPushTarget(target: Json): PushTarget {
  return target as unknown as PushTarget
}
