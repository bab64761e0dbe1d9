// Serves `POST /email/inbound/{provider}`, the webhooks of mail providers.
import { peerAddress, problemStatusOf, readBody, toProblem } from '@postern/http'
import type { Log } from '@postern/message'
import { Rejection } from '@postern/message'
import type { AdmitResult, RefusalContext } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ProvidersConfig } from '../config/providers.ts'
import type { MailIntake } from '../intake/intake.ts'
import { toBuffer } from '../mail/buffers.ts'
import type { DecodedMail, MailProvider, ProviderReplies, ProviderSystem } from './provider.ts'
import type { ProviderName, ProviderRow } from './providers.ts'
import { providerRows } from './providers.ts'

interface ProviderRouting {
  readonly config: ProvidersConfig
  readonly intake: MailIntake
  readonly system: ProviderSystem
  /** The largest mail, in octets. */
  readonly maxBytes: number
}

interface OpenProvider extends Pick<ProviderRow, 'replies' | 'size'> {
  readonly name: ProviderName
  readonly provider: MailProvider
}

/** Creates a route for each configured provider. The routes of other providers do not exist. */
export function createProviderRoutes(routing: ProviderRouting): Hono {
  const routes = new Hono()
  for (const openProvider of openProviders(routing)) {
    routes.post(`/email/inbound/${openProvider.name}`, context => answerWebhook(context, openProvider, routing))
  }
  return routes
}

function openProviders({ config, system }: ProviderRouting): OpenProvider[] {
  return (Object.keys(providerRows) as ProviderName[]).flatMap(name => {
    const settings = config[name]
    const row = providerRows[name] as ProviderRow
    return settings ? [{ name, provider: row.open(settings, system), replies: row.replies, size: row.size }] : []
  })
}

async function answerWebhook(
  context: Context,
  openProvider: OpenProvider,
  routing: ProviderRouting,
): Promise<Response> {
  const { raw } = context.req
  const refusalContext: RefusalContext = {
    from: peerAddress(context.env),
    endpoint: `POST /email/inbound/${openProvider.name}`,
    statusOf: problemStatusOf,
    request: raw,
  }
  try {
    openProvider.provider.checkHeaders?.(raw.headers)
    return await acceptWebhook(raw, openProvider, routing, refusalContext)
  } catch (error) {
    routing.intake.recordRefusal(error, refusalContext)
    return answerUnread(error, openProvider.replies, routing.system.log)
  }
}

/** Accepts the mail of a webhook. It throws only if the mail could not be decoded. */
async function acceptWebhook(
  raw: Request,
  { name, provider, replies, size }: OpenProvider,
  { intake, system, maxBytes }: ProviderRouting,
  refusalContext: RefusalContext,
): Promise<Response> {
  const { factor, overheadBytes, limitBytes = Number.POSITIVE_INFINITY } = size
  const limit = Math.min(Math.ceil(maxBytes * factor) + overheadBytes, limitBytes)
  const request = { headers: raw.headers, body: toBuffer(await readBody(raw, limit)) }
  const mail = await provider.decode(request)
  if (mail && mail.octets.length > maxBytes) {
    throw new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
  }
  try {
    const admitResults = mail ? await acceptMail(mail, name, intake, refusalContext) : []
    provider.remember?.(request)
    return Response.json({ status: 'accepted', messages: admitResults.map(({ outcome }) => ({ outcome })) })
  } catch (error) {
    if (error instanceof Rejection) provider.remember?.(request)
    return answerRefused(error, replies, system.log)
  }
}

function acceptMail(
  { octets, envelope, isLossy, hasDmarcPass }: DecodedMail,
  name: ProviderName,
  intake: MailIntake,
  refusalContext: RefusalContext,
): Promise<readonly AdmitResult[]> {
  return intake.accept(
    octets,
    { ...envelope, source: { name: `provider:${name}`, isLossy, hasDmarcPass } },
    refusalContext,
  )
}

/**
 * Answers a webhook whose mail was not decoded. `too_large` gets the provider's reply to a refused mail. Every other
 * refusal concerns only the client.
 */
function answerUnread(error: unknown, replies: ProviderReplies, log: Log): Response {
  if (error instanceof Rejection && error.code === 'too_large') return answerRefused(error, replies, log)
  const problem = toProblem(error, log)
  const isUnproven = problem.status === 401 || problem.status === 403
  return isUnproven ? changeStatus(problem, replies.unprovenStatus ?? 401) : problem
}

function answerRefused(error: unknown, replies: ProviderReplies, log: Log): Response {
  const problem = toProblem(error, log)
  if (!(error instanceof Rejection) || error.code === 'rate_limited') return changeStatus(problem, 503)
  const isReported = replies.bounces?.has(error.code) ?? true
  const status = isReported ? replies.refusedStatus : 200
  if (!isReported || status === 200)
    return Response.json({ status: 'refused', code: error.code, detail: error.message })
  return replies.isReasonText ? new Response(error.message, { status }) : changeStatus(problem, status)
}

function changeStatus(problem: Response, status: number): Response {
  return problem.status === status ? problem : new Response(problem.body, { status, headers: problem.headers })
}
