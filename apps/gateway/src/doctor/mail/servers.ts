import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { hasRole } from '../../config/own-schema.ts'
import { handleHostOf } from '../../config/schema.ts'
import { isLoopbackHost } from '../../config/trusted-proxies.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'
import { findMailHost, takesMail } from './domain.ts'
import type { SmtpServerAddress, SmtpSession } from './smtp-session.ts'
import { talkToMailServer } from './smtp-session.ts'

const noHost = 'no MX record names a host; see mail.mx'

/** The server that takes what agents send, as it is reached from here. */
export function locateSmarthost({
  config,
  outside,
}: Pick<DoctorDeps, 'config' | 'outside'>): SmtpServerAddress | undefined {
  const { submit } = config.email
  if (!submit) return undefined
  const { host, port, protocol, secure } = submit
  const { authorities } = outside
  return { ...outside.locate(host, port), protocol, ...(secure && { secureName: host, authorities }) }
}

export async function checkSmarthost(deps: DoctorDeps): Promise<CheckOutcome> {
  const { submit } = deps.config.email
  const server = locateSmarthost(deps)
  if (!submit || !server) {
    const fix = 'Set email.submit.host and email.submit.port.'
    return about('email.submit', warning('no smarthost is configured: agents cannot answer mail', fix))
  }
  const place = `${submit.host}:${submit.port}`
  const asked = { place, name: `the smarthost ${place}`, fix: 'Correct email.submit, or start the mail server.' }
  return judgeServer(server, asked, deps, ({ greeting: { extensions } }) => {
    if (submit.user !== undefined && !extensions.has('AUTH') && !extensions.has('STARTTLS'))
      return failure(`the smarthost ${place} takes no user and password`, 'Use its submission port: 587, or 465.')
    const size = extensions.get('SIZE')
    return ok(`the smarthost ${place} answers${size ? ` and takes ${size} bytes` : ''}`)
  })
}

/** Whether what goes to it can be read on its way. */
export async function checkSmarthostTls(deps: DoctorDeps): Promise<CheckOutcome> {
  const { submit } = deps.config.email
  const server = locateSmarthost(deps)
  if (!submit || !server) return skip('email.submit', 'there is no smarthost')
  const { host, port, user } = submit
  const place = `${host}:${port}`
  if (isLoopbackHost(host)) return skip(place, 'it is on this machine')
  const fix = 'Use a port with TLS (465 with "secure": true, or 587 with STARTTLS).'
  return judgeServer(server, { place, name: place, fix }, deps, async session => {
    if (session.handshake === undefined && !session.greeting.extensions.has('STARTTLS')) {
      const seen = `${place} offers no STARTTLS: mail${user === undefined ? '' : ' and password'} can be read on the way`
      return user === undefined ? warning(seen, fix) : failure(seen, fix)
    }
    const handshake = session.handshake ?? (await session.startTls(deps.outside.authorities ?? [], host))
    return handshake.fault === undefined
      ? ok(`${place} speaks ${handshake.protocol}, with a certificate that holds`)
      : failure(
          `the certificate of ${place} does not hold: ${handshake.fault}`,
          'Set email.submit.host to the name that the certificate is for.',
        )
  })
}

/** Our own listener, which the mail server in front hands mail to. */
export async function checkListener(deps: DoctorDeps): Promise<CheckOutcome> {
  const { config, isRunning, outside } = deps
  const { listen } = config.email
  if (!listen) {
    const fix = 'Set email.listen, email.intake.secret or a provider (docs/explanation/mail/receiving.md).'
    return about('email.listen', takesMail(config) ? ok('mail comes by HTTP') : warning('no mail can come in', fix))
  }
  if (!hasRole(config, 'ingress')) return skip('email.listen', 'the roles of this gateway leave mail to others')
  const server = findListener(deps)
  if (!isRunning || !server) return skip('email.listen', 'the gateway listens when it runs')
  const place = server.path ?? `${server.host}:${server.port}`
  const located = { ...server, ...outside.locate(server.host, server.port ?? 0) }
  const asked = { place, name: `the listener ${place}`, fix: 'Look into the log of the gateway.' }
  return judgeServer(located, asked, deps, () => ok(`the listener ${place} answers`))
}

/** The listener with the port that it really has. */
function findListener({ config, gateway }: Pick<DoctorDeps, 'config' | 'gateway'>): SmtpServerAddress | undefined {
  const { listen } = config.email
  if (!hasRole(config, 'ingress')) return undefined
  if (!listen || listen.path !== undefined) return listen
  const port = gateway?.listening.find(({ label }) => label === 'mail')?.port ?? listen.port
  const host = listen.host === '0.0.0.0' || listen.host === '::' ? '127.0.0.1' : listen.host
  return port === undefined || port === 0 ? undefined : { ...listen, host, port }
}

/** Nobody has a mailbox there (RFC 2606). */
const elsewhere = 'postern-relay-probe@relay-probe.invalid'

/** Whether strangers can send mail to others by our servers. Nothing is sent: the session ends before the data. */
export async function checkRelay(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const own = deps.isRunning ? findListener(deps) : undefined
  const host = deps.config.dev ? undefined : await findMailHost(deps)
  const servers: SmtpServerAddress[] = [...(own ? [own] : []), ...(host === undefined ? [] : [{ host, port: 25 }])]
  if (servers.length === 0) return [skip('', 'there is no mail server to ask')]
  return Promise.all(servers.map(server => checkRelayOf(server, deps)))
}

async function checkRelayOf(server: SmtpServerAddress, { config, outside }: DoctorDeps): Promise<CheckOutcome> {
  const place = server.path ?? `${server.host}:${server.port}`
  try {
    const asked = { ...server, ...outside.locate(server.host, server.port ?? 0) }
    return about(place, await talkToMailServer(asked, handleHostOf(config), session => judgeRelay(session, place)))
  } catch (error) {
    return skip(place, `it could not be asked: ${describeError(error)}`)
  }
}

async function judgeRelay({ say }: SmtpSession, place: string): Promise<Verdict> {
  const from = await say('MAIL FROM:<>')
  const to = from.code < 400 ? await say(`RCPT TO:<${elsewhere}>`) : from
  await say('RSET')
  return to.code >= 400
    ? ok(`${place} sends nothing for strangers (${to.code})`)
    : failure(
        `${place} takes mail to others from anybody: it is an open relay`,
        'Let it take mail to your domains only.',
      )
}

/** The server that peers deliver to. */
export async function checkMailHost(deps: DoctorDeps): Promise<CheckOutcome> {
  const { config, outside } = deps
  const host = await findMailHost(deps)
  if (host === undefined) return skip('MX', noHost)
  const place = `${host}:25`
  try {
    const server = outside.locate(host, 25)
    return about(
      place,
      await talkToMailServer(server, handleHostOf(config), session => judgeMailHost(session, host, deps)),
    )
  } catch (error) {
    return describeUnreached(place, error)
  }
}

/** Many networks let nothing out to port 25: then it says nothing about the server. */
function describeUnreached(place: string, error: unknown): CheckOutcome {
  const { code } = error as { readonly code?: string }
  const message = describeError(error)
  const isSilent = message.includes('in time')
  if ((code === 'ECONNREFUSED' || code === undefined) && !isSilent) {
    const fix = 'Start the mail server on the host that the MX record names, and open port 25 to it.'
    return about(place, failure(`${place} is no mail server: ${message}`, fix))
  }
  return skip(place, `it cannot be reached from here, as where a provider lets nothing out to port 25: ${message}`)
}

async function judgeMailHost(session: SmtpSession, host: string, { outside }: DoctorDeps): Promise<Verdict> {
  const fix = `Give the mail server on ${host} a certificate, and let it offer STARTTLS (in Postfix: smtpd_tls_security_level=may).`
  if (!session.greeting.extensions.has('STARTTLS'))
    return warning(`${host} offers no STARTTLS: mail to the agents can be read on its way`, fix)
  const { fault, protocol } = await session.startTls(outside.authorities ?? [], host)
  return fault === undefined
    ? ok(`${host} answers, and speaks ${protocol} with a certificate that holds`)
    : warning(`${host} answers, and its certificate does not hold: ${fault}`, fix)
}

async function judgeServer(
  server: SmtpServerAddress,
  { place, name, fix }: { readonly place: string; readonly name: string; readonly fix: string },
  { config }: DoctorDeps,
  judge: (session: SmtpSession) => Promise<Verdict> | Verdict,
): Promise<CheckOutcome> {
  try {
    return about(place, await talkToMailServer(server, handleHostOf(config), judge))
  } catch (error) {
    return about(place, failure(`${name} is no mail server that we can use: ${describeError(error)}`, fix))
  }
}
