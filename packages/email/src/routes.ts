// Serves `POST /email/inbound`, which accepts raw mail over HTTP.
import { isIP } from 'node:net'
import { parseMediaType, peerAddress, problemStatusOf, readBody, toProblem } from '@postern/http'
import { Rejection } from '@postern/message'
import type { RefusalContext } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { EmailConfig } from './config.ts'
import type { MailIntake } from './intake/intake.ts'
import type { IntakeAuthenticator } from './intake/intake-authenticator.ts'
import { createIntakeAuthenticator } from './intake/intake-authenticator.ts'
import type { IncomingEnvelope } from './mail/raw-mail.ts'
import type { ProviderSystem } from './providers/provider.ts'
import { createProviderRoutes } from './providers/routes.ts'

interface MailRouting {
  readonly config: Pick<EmailConfig, 'intake' | 'limits' | 'providers'>
  readonly intake: MailIntake
  readonly system: ProviderSystem
}

const mailTypes: ReadonlySet<string> = new Set(['message/rfc822', 'message/global', 'application/octet-stream'])

/**
 * Creates the route `POST /email/inbound` for one message, octet by octet, with its envelope in the query. It includes
 * the routes of the mail providers.
 */
export function createMailIntakeRoutes(routing: MailRouting): Hono {
  const { config, intake, system } = routing
  const authenticator = createIntakeAuthenticator(config.intake?.secret, system)
  const maxBytes = config.limits.message_bytes
  return new Hono()
    .post('/email/inbound', context => answerInbound(context, { ...routing, authenticator }))
    .route('/', createProviderRoutes({ config: config.providers, intake, system, maxBytes }))
}

interface InboundRouting extends MailRouting {
  readonly authenticator: IntakeAuthenticator
}

async function answerInbound(context: Context, routing: InboundRouting): Promise<Response> {
  const { authenticator, system, intake } = routing
  const { headers } = context.req.raw
  try {
    // The headers are checked before a stranger's body is read.
    authenticator.checkHeaders(headers)
    const { octets, envelope } = await readRequest(context, routing)
    const admitResults = await intake.accept(octets, envelope, describeRefusal(context))
    authenticator.remember(headers)
    return Response.json({ status: 'accepted', messages: admitResults.map(({ outcome }) => ({ outcome })) })
  } catch (error) {
    intake.recordRefusal(error, describeRefusal(context))
    return addChallenge(toProblem(error, system.log))
  }
}

/** Returns the data about a refused mail for the operator's list of refusals. */
function describeRefusal({ env, req }: Context): RefusalContext {
  const sender = req.query('from')
  return {
    from: peerAddress(env),
    endpoint: 'POST /email/inbound',
    statusOf: problemStatusOf,
    request: req.raw,
    ...(sender && { claimed_sender: sender }),
  }
}

/**
 * Reads the envelope and the body of a request. It checks the signature of the body before anything else reads the
 * body.
 */
async function readRequest(context: Context, { config, authenticator }: InboundRouting) {
  const { raw } = context.req
  const type = context.req.header('content-type')
  if (type && !mailTypes.has(parseMediaType(type)?.type ?? '')) {
    throw new Rejection('unsupported', 'Cannot accept mail: the body must be message/rfc822')
  }
  const envelope = readQueryEnvelope(context)
  const octets = await readBody(raw, config.limits.message_bytes)
  await authenticator.checkBody(raw, octets)
  return { envelope, octets }
}

function readQueryEnvelope({ req }: Context): IncomingEnvelope {
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

/** Adds the challenge to a response with the status 401 (RFC 9110 §11.6.1). */
function addChallenge(response: Response): Response {
  if (response.status === 401) response.headers.set('www-authenticate', 'Bearer realm="mail intake"')
  return response
}
