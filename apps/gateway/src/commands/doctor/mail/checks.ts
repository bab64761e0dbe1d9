import { Resolver } from 'node:dns/promises'
import type { Verdict } from '../../../checks/finding.ts'
import { failure, ok, warning } from '../../../checks/finding.ts'
import { judgeDmarc, judgeMx, judgePtr, judgeSpf } from '../../../checks/mail-dns.ts'
import { handleHostOf } from '../../../config/handle-host.ts'
import type { ConfiguredClient as OperatorClient } from '../../client.ts'
import type { Check } from '../check.ts'
import { askClock, judgeClock } from './clock.ts'
import { checkMailLoop } from './loop.ts'
import { judgeBareNewline, judgeSizes, judgeXforward, readPostfix } from './postfix.ts'
import type { SmtpServerAddress } from './smtp-greeting.ts'
import { readGreeting } from './smtp-greeting.ts'

const timeServer = 'pool.ntp.org'
/** Who knows it sends mail as anybody. */
const shortestSecret = 24

/** Everything that keeps mail from coming, from going, or from being believed. */
export const mailChecks: readonly Check[] = [
  { id: 'mail.smarthost', run: checkSmarthost },
  { id: 'mail.listener', run: checkListener },
  { id: 'mail.secret', run: async ({ config }) => judgeSecret(config.email.intake?.secret) },
  { id: 'mail.sizes', run: checkSizes },
  { id: 'mail.postfix_smuggling', run: client => checkPostfix(client, judgeBareNewline) },
  {
    id: 'mail.postfix_xforward',
    run: client => checkPostfix(client, settings => judgeXforward(settings, client.config.email)),
  },
  { id: 'mail.mx', outside: true, run: checkMx },
  { id: 'mail.spf', outside: true, run: client => checkTexts(client, '', judgeSpf) },
  { id: 'mail.dmarc', outside: true, run: client => checkTexts(client, '_dmarc.', judgeDmarc) },
  { id: 'mail.ptr', outside: true, run: checkPtr },
  { id: 'mail.clock', outside: true, run: async () => judgeClock(await askClock(timeServer, Date.now)) },
  { id: 'mail.loop', outside: true, run: client => checkMailLoop(client) },
]

async function checkSmarthost({ config, isRunning }: OperatorClient): Promise<Verdict> {
  const { submit } = config.email
  if (!submit) {
    if (config.dev && isRunning) return ok('dev mode: mail goes to the simulation')
    return warning(
      'no smarthost is configured: agents cannot answer mail',
      'Set email.submit.host and email.submit.port.',
    )
  }
  const place = `the smarthost ${submit.host}:${submit.port}`
  return tryGreeting(submit, handleHostOf(config), place, 'Correct email.submit, or start the mail server.')
}

async function checkListener({ config, isRunning, isSimulating }: OperatorClient): Promise<Verdict> {
  const { listen, intake, providers } = config.email
  if (!listen) {
    if (isSimulating) return ok('dev mode: the gateway listens for the mail of the simulation')
    const hasHooks = intake !== undefined || Object.keys(providers).length > 0
    return hasHooks
      ? ok('mail comes by HTTP')
      : warning('no mail can come in', 'Set email.listen, email.intake.secret or a provider (docs/email.md).')
  }
  const at = listen.path ?? `${listen.host}:${listen.port}`
  if (!isRunning || listen.port === 0) return ok(`the gateway listens on ${at} when it runs`)
  const place = `the listener ${at}`
  return tryGreeting(listen, handleHostOf(config), place, 'Look into the log of the gateway.')
}

async function tryGreeting(server: SmtpServerAddress, name: string, place: string, fix: string): Promise<Verdict> {
  try {
    const { extensions } = await readGreeting(server, name)
    const size = extensions.get('SIZE')
    return ok(`${place} answers${size ? ` and takes ${size} bytes` : ''}`)
  } catch (error) {
    return failure(`${place} is no mail server that we can use: ${error instanceof Error ? error.message : error}`, fix)
  }
}

export function judgeSecret(secret: string | undefined): Verdict {
  if (secret === undefined) return ok('POST /email/inbound is closed: email.intake.secret is not set')
  return secret.length >= shortestSecret
    ? ok('the secret of the intake is long enough')
    : warning(
        'the secret of the intake can be guessed: whoever has it brings in mail as anybody',
        `Use at least ${shortestSecret} random characters, such as from "openssl rand -base64 24".`,
      )
}

async function checkSizes({ config }: OperatorClient): Promise<Verdict> {
  const { submit } = config.email
  const greeting = submit && (await readGreeting(submit, handleHostOf(config)).catch(() => undefined))
  const smarthost = Number(greeting?.extensions.get('SIZE')) || undefined
  return judgeSizes({ smarthost, settings: await readPostfix() }, config.email)
}

async function checkPostfix(
  { config }: OperatorClient,
  judge: (settings: NonNullable<Awaited<ReturnType<typeof readPostfix>>>) => Verdict,
): Promise<Verdict> {
  if (!config.email.listen) return ok('no mail server hands mail to the gateway')
  const settings = await readPostfix()
  return settings ? judge(settings) : ok('there is no Postfix on this machine')
}

async function checkMx({ config }: OperatorClient): Promise<Verdict> {
  const domain = handleHostOf(config)
  const resolver = openResolver(config)
  const records = await resolver.resolveMx(domain).catch(() => [])
  const hasAddress = records.length === 0 && (await hasHost(resolver, domain))
  return judgeMx(domain, records, hasAddress)
}

async function checkTexts(
  { config }: OperatorClient,
  prefix: string,
  judge: (domain: string, texts: readonly string[]) => Verdict,
): Promise<Verdict> {
  const domain = handleHostOf(config)
  const records = await openResolver(config)
    .resolveTxt(prefix + domain)
    .catch(() => [])
  return judge(
    domain,
    records.map(strings => strings.join('')),
  )
}

async function checkPtr({ config }: OperatorClient): Promise<Verdict> {
  const resolver = openResolver(config)
  const [best] = (await resolver.resolveMx(handleHostOf(config)).catch(() => [])).toSorted(
    (left, right) => left.priority - right.priority,
  )
  const [address] = best ? await resolver.resolve4(best.exchange).catch(() => []) : []
  if (!best || !address) return ok('there is no MX host whose name could be looked up')
  return judgePtr(best.exchange, address, await resolver.reverse(address).catch(() => []))
}

async function hasHost(resolver: Resolver, name: string): Promise<boolean> {
  const found = await Promise.all([resolver.resolve4(name), resolver.resolve6(name)].map(each => each.catch(() => [])))
  return found.flat().length > 0
}

function openResolver({ network }: OperatorClient['config']): Resolver {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  if (network.dns?.length) resolver.setServers(network.dns)
  return resolver
}
