// Serves `POST /email/inbound`, which accepts raw mail over HTTP.
import { isIP } from 'node:net'
import { parseMediaType, peerAddress, problemStatusOf, readBody, toProblem } from '@postern/http'
import { Rejection } from '@postern/message'
import type { RefusalContext } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { EmailConfig } from './config.ts'
import type { MailIntake } from './intake/intake.ts'
import type { IntakeProof } from './intake/proof.ts'
import { createIntakeProof } from './intake/proof.ts'
import type { MailEnvelopeIn } from './mail/raw-mail.ts'
import type { ProviderSystem } from './providers/provider.ts'
import { createProviderRoutes } from './providers/routes.ts'

interface MailRouting {
  readonly config: Pick<EmailConfig, 'intake' | 'limits' | 'providers'>
  readonly intake: MailIntake
  readonly system: ProviderSystem
}

const mailTypes: ReadonlySet<string> = new Set(['message/rfc822', 'message/global', 'application/octet-stream'])

/**
 * Creates the route `POST /email/inbound` for one message, octet by octet, with its envelope in the query. The routes of the mail providers come with
 * it.
 */
export function createMailIntakeRoutes(routing: MailRouting): Hono {
  const { config, intake, system } = routing
  const proof = createIntakeProof(config.intake?.secret, system)
  const maxBytes = config.limits.message_bytes
  return new Hono()
    .post('/email/inbound', context => answerInbound(context, { ...routing, proof }))
    .route('/', createProviderRoutes({ config: config.providers, intake, system, maxBytes }))
}

interface InboundRouting extends MailRouting {
  readonly proof: IntakeProof
}

async function answerInbound(context: Context, routing: InboundRouting): Promise<Response> {
  const { proof, system, intake } = routing
  const { headers } = context.req.raw
  try {
    // The headers are checked before a stranger's body is read.
    proof.checkHeaders(headers)
    const { octets, envelope } = await readRequest(context, routing)
    const admitResults = await intake.accept(octets, envelope, contextOf(context))
    proof.remember(headers)
    return Response.json({ status: 'accepted', messages: admitResults.map(({ outcome }) => ({ outcome })) })
  } catch (error) {
    intake.recordRefusal(error, contextOf(context))
    return challenge(toProblem(error, system.log))
  }
}

/** Returns the data about a refused mail for the operator's list. */
function contextOf({ env, req }: Context): RefusalContext {
  const sender = req.query('from')
  return {
    from: peerAddress(env),
    endpoint: 'POST /email/inbound',
    statusOf: problemStatusOf,
    request: req.raw,
    ...(sender && { claimed_sender: sender }),
  }
}

/** Checks the signature of a body before anything else in the body is read. */
async function readRequest(context: Context, { config, proof }: InboundRouting) {
  const { raw } = context.req
  const type = context.req.header('content-type')
  if (type && !mailTypes.has(parseMediaType(type)?.type ?? '')) {
    throw new Rejection('unsupported', 'Cannot accept mail: the body must be message/rfc822')
  }
  const envelope = readQueryEnvelope(context)
  const octets = await readBody(raw, config.limits.message_bytes)
  await proof.checkBody(raw, octets)
  return { envelope, octets }
}

function readQueryEnvelope({ req }: Context): MailEnvelopeIn {
  const ip = req.query('ip')
  if (ip && isIP(ip) === 0) throw new Rejection('malformed', 'Cannot accept mail: "ip" is not an IP address')
  const from = req.query('from')
  const helo = req.query('helo')
  return {
    ...(from !== undefined && { from: from.trim().replace(/^<|>$/g, '') }),
    to: (req.queries('to') ?? []).filter(Boolean),
    ...(ip && { ip }),
    ...(helo && { helo }),
    endpoint: 'inbound',
  }
}

/** Adds the challenge to an answer (RFC 9110 §11.6.1). */
function challenge(response: Response): Response {
  if (response.status === 401) response.headers.set('www-authenticate', 'Bearer realm="mail intake"')
  return response
}
