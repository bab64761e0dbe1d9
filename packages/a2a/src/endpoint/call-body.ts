// Reads the body of a call as bounded JSON.
import type { IncomingRequest } from '@postern/http'
import { hasMoreMembers, parseBoundedJson, parseMediaType, readBody } from '@postern/http'
import { Rejection } from '@postern/message'
import type { A2aErrorName } from '../format/errors.ts'
import { A2aRejection } from '../format/errors.ts'
import type { EndpointDeps } from './call.ts'

const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json'])

/**
 * Checks the content type.
 * @throws A2aRejection `errorName`; `parseError` for a charset that JSON cannot be in (RFC 8259 §8.1)
 */
export function checkContentType(header: string | null, errorName: A2aErrorName): void {
  if (header === 'application/json') return
  const media = parseMediaType(header)
  if (!media || !jsonTypes.has(media.type)) {
    throw new A2aRejection(errorName, 'Cannot read request: content type must be application/json')
  }
  const charset = media.parameters.get('charset') ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw new A2aRejection('parseError', 'Cannot read request: charset must be utf-8')
}

/** Reads the body within its limit. @throws Rejection; A2aRejection `mediaTypeNotSupported` for a content coding */
export async function readCallBody(
  request: IncomingRequest,
  { config }: Pick<EndpointDeps, 'config'>,
): Promise<Uint8Array> {
  try {
    return await readBody(request, config.limits.body_bytes)
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'unsupported') throw error
    throw new A2aRejection('mediaTypeNotSupported', error.message, { cause: error })
  }
}

/**
 * Reads the body as JSON. If a key occurs twice, the last one counts.
 * @throws A2aRejection `parseError`; `invalidParams` for JSON that is too deep or has too many members
 */
export function parseCallBody(bytes: Uint8Array): unknown {
  if (hasMoreMembers(bytes, maxMembers)) {
    throw new A2aRejection('invalidParams', `Cannot read request: more than ${maxMembers} members and items`)
  }
  try {
    return parseBoundedJson(bytes, { maxDepth, label: 'request' })
  } catch (cause) {
    if (!(cause instanceof Rejection)) throw cause
    throw new A2aRejection(/nested deeper/.test(cause.message) ? 'invalidParams' : 'parseError', cause.message, {
      cause,
    })
  }
}

const maxDepth = 64

/** The most members and items in total. A message of a thousand parts has far fewer. */
const maxMembers = 50_000
