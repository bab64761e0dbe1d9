import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { handleHostOf } from '../../config/handle-host.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps, Outside } from '../deps.ts'
import { lookAtOwnMail } from './domain.ts'

/** MTA-STS (RFC 8461): that mail to us goes over TLS only. It is not needed, and wrong it keeps mail away. */
export async function checkMtaSts(deps: DoctorDeps): Promise<CheckOutcome> {
  const domain = handleHostOf(deps.config)
  const name = `_mta-sts.${domain}`
  const records = (await findTexts(name, deps.outside)).filter(text => /^v=STSv1\s*;/i.test(text))
  if (records.length === 0) return skip(name, 'MTA-STS is not used')
  const url = `https://mta-sts.${domain}/.well-known/mta-sts.txt`
  const fix = `Serve the policy at ${url} with the hosts of the MX records, or remove the record ${name}.`
  if (records.length > 1)
    return about(name, failure(`${name} has ${records.length} MTA-STS records: it counts as none`, fix))
  try {
    const { status, body } = await deps.outside.fetch(url, { timeoutMs: 8_000, maxBytes: 65_536 })
    if (status !== 200) return about(url, failure(`the MTA-STS policy answers ${status}`, fix))
    const hosts = ((await lookAtOwnMail(deps))?.mx ?? []).map(({ exchange }) => exchange)
    return about(url, judgePolicy(Buffer.from(body).toString(), hosts, fix))
  } catch (error) {
    return about(url, failure(`the MTA-STS policy cannot be had: ${describeError(error)}`, fix))
  }
}

function judgePolicy(text: string, hosts: readonly string[], fix: string): Verdict {
  const lines = text.split(/\r?\n/).map(line => /^\s*(\w+)\s*:\s*(.*?)\s*$/.exec(line))
  const valuesOf = (key: string) => lines.flatMap(line => (line?.[1] === key ? [line[2] ?? ''] : []))
  const [mode = ''] = valuesOf('mode')
  if (valuesOf('version')[0] !== 'STSv1' || !['enforce', 'testing', 'none'].includes(mode))
    return failure('the MTA-STS policy is malformed', fix)
  const patterns = valuesOf('mx')
  const unnamed = hosts.filter(
    host => !patterns.some(pattern => matchesHost(pattern.toLowerCase(), host.toLowerCase())),
  )
  if (mode !== 'none' && unnamed.length > 0) {
    const seen = `the MTA-STS policy does not name ${unnamed.join(', ')}`
    return mode === 'enforce' ? failure(`${seen}: careful senders deliver nothing there`, fix) : warning(seen, fix)
  }
  return ok(`the MTA-STS policy names every mail host (mode ${mode})`)
}

/** RFC 8461 §4.1: `*.` stands for one label. */
function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.slice(host.indexOf('.') + 1) === pattern.slice(2) : host === pattern
}

/** TLS reports (RFC 8460): who could not deliver by TLS tells us. */
export async function checkTlsReports(deps: DoctorDeps): Promise<CheckOutcome> {
  const domain = handleHostOf(deps.config)
  const name = `_smtp._tls.${domain}`
  const [records, policies] = await Promise.all([
    findTexts(name, deps.outside),
    findTexts(`_mta-sts.${domain}`, deps.outside),
  ])
  const found = records.filter(text => /^v=TLSRPTv1\s*;/i.test(text))
  const fix = `Publish a TXT record for ${name}: "v=TLSRPTv1; rua=mailto:postmaster@${domain}".`
  if (found.length === 0)
    return policies.length > 0
      ? about(name, warning('MTA-STS is used, and nobody is told when mail does not come by it', fix))
      : skip(name, 'TLS reports are not used')
  return about(
    name,
    found.length === 1 && /;\s*rua=(mailto:|https:)/i.test(found[0] ?? '')
      ? ok('TLS reports have an address')
      : warning('the record for TLS reports has no address that they can be sent to', fix),
  )
}

async function findTexts(name: string, { resolveDns }: Outside): Promise<readonly string[]> {
  const found = await resolveDns(name, 'TXT').catch(() => [])
  return (found as readonly (readonly string[])[]).map(strings => strings.join(''))
}
