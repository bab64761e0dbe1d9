// Checks the mail records of the gateway's domain: MX, SPF, DKIM, DMARC, MTA-STS, PTR.
import { isIPv6 } from 'node:net'
import { judgePtr } from '../../checks/mail-dns.ts'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { judgeMailRows } from '../../resolve/rows/mail.ts'
import type { ResolveFinding } from '../../resolve/rows/row.ts'
import { queryDns, queryTexts, readMailView } from '../../resolve/view/mail.ts'
import { oncePerRun, outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import { resolveIpAddresses } from '../network/hosts.ts'
import type { CheckOutcome } from '../report.ts'

const noMail = 'mail is off: "email" names no listener, webhook or smarthost'

export function acceptsMail({ email }: DoctorDeps['config']): boolean {
  return email.listen !== undefined || email.intake !== undefined || Object.keys(email.providers).length > 0
}

/** Reads the DNS records for mail of the gateway’s domain. */
const readOwnMail = oncePerRun((deps: DoctorDeps) => {
  const domain = deps.handleHost
  const { fetch, resolveDns } = deps.network
  const system = deps.gateway?.openResolveSystem() ?? { fetch, resolveDns, now: deps.now }
  return readMailView({ local: 'postmaster', domain }, `mailto:postmaster@${domain}`, { ...system, resolveDns })
})

/** Runs a row of `postern resolve` for the gateway’s own domain. */
export async function checkMailRow(deps: DoctorDeps, row: string): Promise<CheckOutcome> {
  const domain = deps.handleHost
  if (!acceptsMail(deps.config) && !deps.config.email.submit) return skip(domain, noMail)
  const mail = await readOwnMail(deps)
  const findings: readonly ResolveFinding[] = mail ? judgeMailRows({ local: 'postmaster', domain }, mail) : []
  const finding = findings.find(({ id }) => id === row)
  return finding ? outcomeFor(domain, finding) : skip(domain, 'DNS has no records for its mail')
}

/** Returns the host that gets mail first; undefined if there is none. */
export async function findMailHost(deps: DoctorDeps): Promise<string | undefined> {
  const records = (await readOwnMail(deps))?.mx ?? []
  const [preferredRecord] = records.toSorted((a, b) => a.priority - b.priority)
  return preferredRecord && preferredRecord.exchange !== '' && preferredRecord.exchange !== '.'
    ? preferredRecord.exchange
    : undefined
}

/** Checks MTA-STS (RFC 8461), by which senders use TLS only. It is optional, but a wrong policy stops mail. */
export async function checkMtaSts(deps: DoctorDeps): Promise<CheckOutcome> {
  const domain = deps.handleHost
  const name = `_mta-sts.${domain}`
  const records = (await findTexts(name, deps)).filter(text => /^v=STSv1\s*;/i.test(text))
  if (records.length === 0) return skip(name, 'MTA-STS is not used')
  const url = `https://mta-sts.${domain}/.well-known/mta-sts.txt`
  const fix = `Serve the policy at ${url} with the hosts of the MX records, or remove the record ${name}.`
  if (records.length > 1)
    return outcomeFor(name, failure(`${name} has ${records.length} MTA-STS records: it counts as none`, fix))
  try {
    const { status, body } = await deps.network.fetch(url, { timeoutMs: 8_000, maxBytes: 65_536 })
    if (status !== 200) return outcomeFor(url, failure(`the MTA-STS policy answers ${status}`, fix))
    const hosts = ((await readOwnMail(deps))?.mx ?? []).map(({ exchange }) => exchange)
    return outcomeFor(url, judgePolicy(Buffer.from(body).toString(), hosts, fix))
  } catch (error) {
    return outcomeFor(url, failure(`cannot fetch the MTA-STS policy: ${describeError(error)}`, fix))
  }
}

function judgePolicy(text: string, hosts: readonly string[], fix: string): Verdict {
  const lines = text.split(/\r?\n/).map(line => /^\s*(\w+)\s*:\s*(.*?)\s*$/.exec(line))
  const valuesOf = (key: string) => lines.flatMap(line => (line?.[1] === key ? [line[2] ?? ''] : []))
  const [mode = ''] = valuesOf('mode')
  if (valuesOf('version')[0] !== 'STSv1' || !['enforce', 'testing', 'none'].includes(mode))
    return failure('the MTA-STS policy is malformed', fix)
  const patterns = valuesOf('mx')
  const unnamedHosts = hosts.filter(
    host => !patterns.some(pattern => matchesHost(pattern.toLowerCase(), host.toLowerCase())),
  )
  if (mode !== 'none' && unnamedHosts.length > 0) {
    const observation = `the MTA-STS policy does not name ${unnamedHosts.join(', ')}`
    return mode === 'enforce'
      ? failure(`${observation}: senders that check it deliver nothing there`, fix)
      : warning(observation, fix)
  }
  return ok(`the MTA-STS policy names every mail host (mode ${mode})`)
}

/** Returns true if a host matches a pattern, in which `*.` stands for one label (RFC 8461 §4.1). */
function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.slice(host.indexOf('.') + 1) === pattern.slice(2) : host === pattern
}

/** Checks the record for TLS reports (RFC 8460), in which senders report failed deliveries by TLS. */
export async function checkTlsReports(deps: DoctorDeps): Promise<CheckOutcome> {
  const domain = deps.handleHost
  const name = `_smtp._tls.${domain}`
  const [records, policies] = await Promise.all([findTexts(name, deps), findTexts(`_mta-sts.${domain}`, deps)])
  const reportRecords = records.filter(text => /^v=TLSRPTv1\s*;/i.test(text))
  const fix = `Publish a TXT record for ${name}: "v=TLSRPTv1; rua=mailto:postmaster@${domain}".`
  if (reportRecords.length === 0)
    return policies.length > 0
      ? outcomeFor(name, warning('MTA-STS is used, but senders cannot report failed deliveries', fix))
      : skip(name, 'TLS reports are not used')
  return outcomeFor(
    name,
    reportRecords.length === 1 && /;\s*rua=(mailto:|https:)/i.test(reportRecords[0] ?? '')
      ? ok('TLS reports have an address')
      : warning('the record for TLS reports has no valid address', fix),
  )
}

async function findTexts(name: string, { network }: DoctorDeps): Promise<readonly string[]> {
  return (await queryTexts(network.resolveDns, name)) ?? []
}

/** Checks the PTR record of the mail host (RFC 8601 §2.7.3 "iprev"). */
export async function checkPtr(deps: DoctorDeps): Promise<CheckOutcome> {
  const host = await findMailHost(deps)
  if (host === undefined) return skip('MX', 'no MX record names a host; see mail.mx')
  const [address] = (await resolveIpAddresses(host, deps.network)).flatMap(familyAddresses => familyAddresses ?? [])
  if (address === undefined) return skip(host, 'it has no address')
  const names = await queryDns<string>(deps.network.resolveDns, reverseName(address), 'PTR')
  return outcomeFor(address, judgePtr(host, address, names ?? []))
}

/** Returns the name of an address’s PTR record (RFC 1035 §3.5, RFC 3596 §2.5). */
export function reverseName(address: string): string {
  if (!isIPv6(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const [left = [], right = []] = address.split('::').map(half => (half ? half.split(':') : []))
  const omittedGroups = Array.from({ length: 8 - left.length - right.length }, () => '0')
  const digits = [...left, ...omittedGroups, ...right].map(group => group.padStart(4, '0')).join('')
  return `${[...digits].reverse().join('.')}.ip6.arpa`
}
