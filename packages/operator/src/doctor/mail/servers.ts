// Checks the mail servers: smarthost, listener and the host of the MX record.
import { isLoopbackHost } from '@postern/http'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'
import { acceptsMail, findMailHost } from './domain.ts'
import type { SmtpServerAddress, SmtpSession } from './smtp-session.ts'
import { talkToMailServer } from './smtp-session.ts'

const noHost = 'no MX record names a host; see mail.mx'

/** Returns the address of the smarthost, which accepts mail of agents. */
export function locateSmarthost({
  config,
  network,
}: Pick<DoctorDeps, 'config' | 'network'>): SmtpServerAddress | undefined {
  const { submit } = config.email
  if (!submit) return undefined
  const { host, port, protocol, secure } = submit
  const { authorities } = network
  return { ...network.locate(host, port), protocol, ...(secure && { secureName: host, authorities }) }
}

export async function checkSmarthost(deps: DoctorDeps): Promise<CheckOutcome> {
  const { submit } = deps.config.email
  const server = locateSmarthost(deps)
  if (!submit || !server) {
    const fix = 'Set email.submit.host and email.submit.port.'
    return outcomeFor('email.submit', warning('no smarthost is configured: agents cannot answer mail', fix))
  }
  const address = `${submit.host}:${submit.port}`
  const fix = 'Correct email.submit, or start the mail server.'
  return judgeServer(
    { server, address, name: `the smarthost ${address}`, fix },
    deps,
    ({ greeting: { extensions } }) => {
      if (submit.user !== undefined && !extensions.has('AUTH') && !extensions.has('STARTTLS'))
        return failure(`the smarthost ${address} takes no user and password`, 'Use its submission port: 587, or 465.')
      const size = extensions.get('SIZE')
      return ok(`the smarthost ${address} answers${size ? ` and takes ${size} bytes` : ''}`)
    },
  )
}

/** Checks that the connection to the smarthost is encrypted. */
export async function checkSmarthostTls(deps: DoctorDeps): Promise<CheckOutcome> {
  const { submit } = deps.config.email
  const server = locateSmarthost(deps)
  if (!submit || !server) return skip('email.submit', 'there is no smarthost')
  const { host, port, user } = submit
  const address = `${host}:${port}`
  if (isLoopbackHost(host)) return skip(address, 'it is on this machine')
  const fix = 'Use a port with TLS (465 with "secure": true, or 587 with STARTTLS).'
  return judgeServer({ server, address, name: address, fix }, deps, async session => {
    if (session.handshake === undefined && !session.greeting.extensions.has('STARTTLS')) {
      const observation = `${address} offers no STARTTLS: mail${user === undefined ? '' : ' and password'} can be read on the way`
      return user === undefined ? warning(observation, fix) : failure(observation, fix)
    }
    const handshake = session.handshake ?? (await session.startTls(deps.network.authorities ?? [], host))
    return handshake.trustError === undefined
      ? ok(`${address} speaks ${handshake.protocol}, with a valid certificate`)
      : failure(
          `the certificate of ${address} is not valid: ${handshake.trustError}`,
          'Set email.submit.host to the name that the certificate is for.',
        )
  })
}

/** Checks the gateway’s own listener, which gets mail from the mail server in front of it. */
export async function checkListener(deps: DoctorDeps): Promise<CheckOutcome> {
  const { config, isRunning, network } = deps
  const { listen } = config.email
  if (!listen) {
    const fix = 'Set email.listen, email.intake.secret or a provider (docs/explanation/mail/receiving.md).'
    return outcomeFor(
      'email.listen',
      acceptsMail(config) ? ok('mail comes by HTTP') : warning('no mail can come in', fix),
    )
  }
  if (!config.roles.includes('ingress')) return skip('email.listen', 'this gateway does not have the role "ingress"')
  const server = findListener(deps)
  if (!isRunning || !server) return skip('email.listen', 'the gateway listens when it runs')
  const address = server.path ?? `${server.host}:${server.port}`
  const locatedServer = { ...server, ...network.locate(server.host, server.port ?? 0) }
  const fix = 'Look into the log of the gateway.'
  return judgeServer({ server: locatedServer, address, name: `the listener ${address}`, fix }, deps, () =>
    ok(`the listener ${address} answers`),
  )
}

/** Returns the listener with its real port. */
function findListener({ config, gateway }: Pick<DoctorDeps, 'config' | 'gateway'>): SmtpServerAddress | undefined {
  const { listen } = config.email
  if (!config.roles.includes('ingress')) return undefined
  if (!listen || listen.path !== undefined) return listen
  const port = gateway?.listening.find(({ label }) => label === 'mail')?.port ?? listen.port
  const host = listen.host === '0.0.0.0' || listen.host === '::' ? '127.0.0.1' : listen.host
  return port === undefined || port === 0 ? undefined : { ...listen, host, port }
}

/** An address at a domain that cannot exist (RFC 2606). */
const foreignMailbox = 'postern-relay-probe@relay-probe.invalid'

/** Checks that strangers cannot send mail to others through the servers. It sends no mail: the session ends before the data. */
export async function checkRelay(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const listener = deps.isRunning ? findListener(deps) : undefined
  const host = deps.config.dev ? undefined : await findMailHost(deps)
  const servers: SmtpServerAddress[] = [
    ...(listener ? [listener] : []),
    ...(host === undefined ? [] : [{ host, port: 25 }]),
  ]
  if (servers.length === 0) return [skip('', 'there is no mail server to ask')]
  return Promise.all(servers.map(server => checkRelayOf(server, deps)))
}

async function checkRelayOf(server: SmtpServerAddress, { handleHost, network }: DoctorDeps): Promise<CheckOutcome> {
  const address = server.path ?? `${server.host}:${server.port}`
  try {
    const connectionOptions = { ...server, ...network.locate(server.host, server.port ?? 0) }
    return outcomeFor(
      address,
      await talkToMailServer(connectionOptions, handleHost, session => judgeRelay(session, address)),
    )
  } catch (error) {
    return skip(address, `it could not be asked: ${describeError(error)}`)
  }
}

async function judgeRelay({ send: sendCommand }: SmtpSession, address: string): Promise<Verdict> {
  const from = await sendCommand('MAIL FROM:<>')
  const to = from.code < 400 ? await sendCommand(`RCPT TO:<${foreignMailbox}>`) : from
  await sendCommand('RSET')
  return to.code >= 400
    ? ok(`${address} relays no mail for strangers (${to.code})`)
    : failure(`${address} relays mail for anybody: it is an open relay`, 'Let it take mail to your domains only.')
}

/** Checks the server that peers deliver mail to. */
export async function checkMailHost(deps: DoctorDeps): Promise<CheckOutcome> {
  const { handleHost, network } = deps
  const host = await findMailHost(deps)
  if (host === undefined) return skip('MX', noHost)
  const address = `${host}:25`
  try {
    const server = network.locate(host, 25)
    return outcomeFor(
      address,
      await talkToMailServer(server, handleHost, session => judgeMailHost(session, host, deps)),
    )
  } catch (error) {
    return describeConnectionError(address, error)
  }
}

/** Describes a failed connection. Many networks block outgoing port 25, so a failure proves nothing about the server. */
function describeConnectionError(address: string, error: unknown): CheckOutcome {
  const { code } = error as { readonly code?: string }
  const message = describeError(error)
  const isSilent = message.includes('in time')
  if ((code === 'ECONNREFUSED' || code === undefined) && !isSilent) {
    const fix = 'Start the mail server on the host that the MX record names, and open port 25 to it.'
    return outcomeFor(address, failure(`${address} is not a mail server: ${message}`, fix))
  }
  return skip(address, `it cannot be reached from this machine; the provider may block outgoing port 25: ${message}`)
}

async function judgeMailHost(session: SmtpSession, host: string, { network }: DoctorDeps): Promise<Verdict> {
  const fix = `Give the mail server on ${host} a certificate, and let it offer STARTTLS (in Postfix: smtpd_tls_security_level=may).`
  if (!session.greeting.extensions.has('STARTTLS'))
    return warning(`${host} offers no STARTTLS: mail to the agents can be read on its way`, fix)
  const { trustError, protocol } = await session.startTls(network.authorities ?? [], host)
  return trustError === undefined
    ? ok(`${host} answers, and speaks ${protocol} with a valid certificate`)
    : warning(`${host} answers, but its certificate is not valid: ${trustError}`, fix)
}

interface JudgedServer {
  readonly server: SmtpServerAddress
  /** The subject of the outcome. */
  readonly address: string
  /** The name of the server in a sentence, such as `the smarthost mail.test:25`. */
  readonly name: string
  readonly fix: string
}

async function judgeServer(
  { server, address, name, fix }: JudgedServer,
  { handleHost }: DoctorDeps,
  judge: (session: SmtpSession) => Promise<Verdict> | Verdict,
): Promise<CheckOutcome> {
  try {
    return outcomeFor(address, await talkToMailServer(server, handleHost, judge))
  } catch (error) {
    return outcomeFor(address, failure(`the gateway cannot use ${name}: ${describeError(error)}`, fix))
  }
}
