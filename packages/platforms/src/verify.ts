// Lets the adapter verify a request, and returns what the request says.
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { HeardEvent } from './adapters/host.ts'
import type { PlatformConfig } from './config.ts'
import type { OpenedPlatform, Platform, PlatformDocument, PlatformRequest } from './platform.ts'
import { webhookMethod } from './speaker.ts'

declare const provenBrand: unique symbol

/** A request that the platform's adapter has verified. Only `verifyRequest` creates one. */
export interface ProvenRequest {
  readonly [provenBrand]: true
  readonly document: PlatformDocument
  readonly events: readonly HeardEvent[]
  readonly verifiedAt: number
}

interface VerifyDeps {
  readonly platform: Pick<Platform<PlatformConfig>, 'name' | 'headers' | 'signatureHeader'>
  readonly opened: Pick<OpenedPlatform, 'connect' | 'hear' | 'listUnheard' | 'readDocument'>
  now(): number
}

/** A request, and the function that gets the adapter's own answer to it. */
export interface AnsweredRequest extends PlatformRequest {
  keepAnswer(response: Response): void
}

/**
 * Verifies a request by the adapter's own check, which needs the signature over all bytes.
 * @throws Rejection `unsigned`, `signature_invalid`, `malformed`; Unavailable
 */
export async function verifyRequest(
  request: AnsweredRequest,
  steps: IntakeSteps,
  { platform, opened, now }: VerifyDeps,
): Promise<ProvenRequest> {
  if (!request.headers.get(platform.signatureHeader)) {
    throw new Rejection('unsigned', `Cannot take request: it has no ${platform.signatureHeader}`)
  }
  await connect(opened)
  const since = steps.now()
  const { response, events } = await opened.hear(toAdapterRequest(request, platform))
  const isRefused = response.status === 401 || response.status === 403
  steps.recordCheck({ kind: webhookMethod, verdict: isRefused ? 'fail' : 'pass' }, since, { from: 'config' })
  if (isRefused) {
    throw new Rejection('signature_invalid', `Cannot take request: its signature is not one of ${platform.name}`)
  }
  if (!response.ok) throw new Rejection('malformed', `Cannot take request: ${await response.text()}`)
  request.keepAnswer(response)
  const document = opened.readDocument(request)
  const proven = { document, events: [...events, ...opened.listUnheard(document)], verifiedAt: now() }
  return proven as unknown as ProvenRequest
}

/** Connects to the platform. A fault that only the operator can mend is temporary for the platform, which then sends the event again. */
async function connect(opened: Pick<OpenedPlatform, 'connect'>): Promise<void> {
  try {
    await opened.connect()
  } catch (error) {
    if (error instanceof Undeliverable) throw new Unavailable(error.message, { cause: error })
    throw error
  }
}

/** Returns the request with the headers that the check reads. Others could open further entries of the adapter, such as one for forwarded events. */
function toAdapterRequest(
  { url, headers, body }: PlatformRequest,
  { headers: names, signatureHeader }: VerifyDeps['platform'],
): Request {
  const entries = [signatureHeader, ...names].flatMap(name => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  return new Request(url, { method: 'POST', headers: entries, body: new Uint8Array(body) })
}
