import type { Admitted, Log, RefusalPlace } from '@postern/core'
import { Rejection } from '@postern/core'
import { peerAddress, problemStatusOf, readBody, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ProvidersConfig } from '../config/providers.ts'
import type { MailIntake } from '../intake/intake.ts'
import { toBuffer } from '../mail/octets.ts'
import type { DecodedMail, MailProvider, ProviderLanguage, ProviderPlatform } from './provider.ts'
import type { ProviderName, ProviderRow } from './providers.ts'
import { providerRows } from './providers.ts'

interface ProviderRouting {
  readonly config: ProvidersConfig
  readonly intake: MailIntake
  readonly platform: ProviderPlatform
  /** Octets of one mail. */
  readonly maxBytes: number
}

interface OpenProvider extends Pick<ProviderRow, 'language' | 'size'> {
  readonly name: ProviderName
  readonly provider: MailProvider
}

/** `POST /email/inbound/{provider}` for every provider that is configured; the others do not exist. */
export function createProviderRoutes(routing: ProviderRouting): Hono {
  const routes = new Hono()
  for (const open of openProviders(routing)) {
    routes.post(`/email/inbound/${open.name}`, context => answerWebhook(context, open, routing))
  }
  return routes
}

function openProviders({ config, platform }: ProviderRouting): OpenProvider[] {
  return (Object.keys(providerRows) as ProviderName[]).flatMap(name => {
    const settings = config[name]
    const row = providerRows[name] as ProviderRow
    return settings ? [{ name, provider: row.open(settings, platform), language: row.language, size: row.size }] : []
  })
}

async function answerWebhook(context: Context, open: OpenProvider, routing: ProviderRouting): Promise<Response> {
  const { raw } = context.req
  const place: RefusalPlace = {
    from: peerAddress(context.env),
    endpoint: `POST /email/inbound/${open.name}`,
    statusOf: problemStatusOf,
    request: raw,
  }
  try {
    open.provider.checkHeaders?.(raw.headers)
    return await takeWebhook(raw, open, routing, place)
  } catch (error) {
    routing.intake.recordRefusal(error, place)
    return answerUnread(error, open.language, routing.platform.log)
  }
}

/** Throws only while there is no mail yet. */
async function takeWebhook(
  raw: Request,
  { name, provider, language, size }: OpenProvider,
  { intake, platform, maxBytes }: ProviderRouting,
  place: RefusalPlace,
): Promise<Response> {
  const { factor, rest, most = Number.POSITIVE_INFINITY } = size
  const limit = Math.min(Math.ceil(maxBytes * factor) + rest, most)
  const request = { headers: raw.headers, body: toBuffer(await readBody(raw, limit)) }
  const mail = await provider.decode(request)
  if (mail && mail.octets.length > maxBytes) {
    throw new Rejection('too_large', `Cannot accept mail: larger than ${maxBytes} bytes`)
  }
  try {
    const admitted = mail ? await takeMail(mail, name, intake, place) : []
    provider.remember?.(request)
    return Response.json({ status: 'accepted', messages: admitted.map(({ outcome }) => ({ outcome })) })
  } catch (error) {
    if (error instanceof Rejection) provider.remember?.(request)
    return answerRefused(error, language, platform.log)
  }
}

function takeMail(
  { octets, envelope, isLossy, hasDmarcPass }: DecodedMail,
  name: ProviderName,
  intake: MailIntake,
  place: RefusalPlace,
): Promise<readonly Admitted[]> {
  return intake.take(octets, { ...envelope, source: { name: `provider:${name}`, isLossy, hasDmarcPass } }, place)
}

/** Before there is a mail: `too_large` uses the provider's words, every other refusal concerns only the caller. */
function answerUnread(error: unknown, language: ProviderLanguage, log: Log): Response {
  if (error instanceof Rejection && error.code === 'too_large') return answerRefused(error, language, log)
  const problem = toProblem(error, log)
  const isUnproven = problem.status === 401 || problem.status === 403
  return isUnproven ? changeStatus(problem, language.unproven ?? 401) : problem
}

function answerRefused(error: unknown, language: ProviderLanguage, log: Log): Response {
  const problem = toProblem(error, log)
  if (!(error instanceof Rejection) || error.code === 'rate_limited') return changeStatus(problem, 503)
  const isTold = language.bounces?.has(error.code) ?? true
  const status = isTold ? language.refused : 200
  if (!isTold || status === 200) return Response.json({ status: 'refused', code: error.code, detail: error.message })
  return language.isReasonText ? new Response(error.message, { status }) : changeStatus(problem, status)
}

function changeStatus(problem: Response, status: number): Response {
  return problem.status === status ? problem : new Response(problem.body, { status, headers: problem.headers })
}
