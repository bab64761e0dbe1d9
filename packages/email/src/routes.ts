import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { Admitted, Log } from '@postern/core'
import { Rejection } from '@postern/core'
import { parseMediaType, peerAddress, readBody, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { EmailConfig } from './config.ts'
import type { MailIntake } from './intake.ts'
import type { MailEnvelopeIn } from './mail.ts'

export interface MailRouting {
  readonly config: Pick<EmailConfig, 'intake' | 'limits'>
  readonly intake: MailIntake
  readonly log: Log
}

const mailTypes: ReadonlySet<string> = new Set(['message/rfc822', 'message/global', 'application/octet-stream'])

/** `POST /email/inbound`: one message, octet by octet, with its envelope in the query (`interface.md`). */
export function createMailRoutes(routing: MailRouting): Hono {
  return new Hono().post('/email/inbound', context => answerInbound(context, routing))
}

async function answerInbound(context: Context, { config, intake, log }: MailRouting): Promise<Response> {
  const from = peerAddress(context.env)
  let admitted: readonly Admitted[]
  try {
    const { octets, envelope } = await readRequest(context, config).catch(error => {
      intake.recordRefusal(error, from)
      throw error
    })
    admitted = await intake.take(octets, envelope, from)
  } catch (error) {
    return challenge(toProblem(error, log))
  }
  return Response.json({ status: 'accepted', messages: admitted.map(({ outcome }) => ({ outcome })) })
}

/** Who asks is settled before anything is read. */
async function readRequest(context: Context, { intake, limits }: MailRouting['config']) {
  checkSecret(context.req.header('authorization'), intake?.secret)
  const type = context.req.header('content-type')
  if (type && !mailTypes.has(parseMediaType(type)?.type ?? '')) {
    throw new Rejection('unsupported', 'Cannot accept mail: the body must be message/rfc822')
  }
  const envelope = readQueryEnvelope(context)
  return { envelope, octets: await readBody(context.req.raw, limits.message_bytes) }
}

function checkSecret(authorization: string | undefined, secret: string | undefined): void {
  if (!secret) throw new Rejection('forbidden', 'Cannot accept mail: email.intake.secret is not configured')
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!given || !isSameText(given, secret))
    throw new Rejection('unsigned', 'Cannot accept mail: wrong or missing bearer token')
}

/** In constant time, whatever the lengths. */
function isSameText(left: string, right: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(left), hash(right))
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
  }
}

/** RFC 9110 §11.6.1 */
function challenge(response: Response): Response {
  if (response.status === 401) response.headers.set('www-authenticate', 'Bearer realm="mail intake"')
  return response
}
