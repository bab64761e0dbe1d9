// Lists installations for the doctor's checks of mail.
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { makeCertificate } from '@postern/http/test-certificate'
import { onTestFinished } from 'vitest'
import { openTestGateway, operatorToken, testIntakeSecret } from '../../setup/gateway.ts'
import { openDoctorBench, ownHost, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { mailCertificate, mxHost, serveMail } from '../setup/mail-server.ts'
import { describeGateway, openShared } from '../setup/shared-gateway.ts'

const submit = { host: mxHost, port: 587 }
const authorities = [mailCertificate.cert]

export async function examineSmarthost(id: string, plan: Parameters<typeof serveMail>[0], settings: object = {}) {
  const ports = { [`${mxHost}:587`]: await serveMail(plan) }
  const email = { submit: { ...submit, ...settings } }
  return examine(id, openDoctorBench({ ports, settings: { email }, network: { authorities } }))
}

/** Examines zones of the domain, with mail that arrives at a listener. */
export async function examineZone(id: string, zone: Readonly<Record<string, object>>, benchOptions: BenchOptions = {}) {
  const { dns } = (await openShared()).simulation
  const recordsBefore = Object.keys(zone).map(name => [name, dns.find(name)] as const)
  for (const [name, records] of Object.entries(zone)) dns.set(name, records)
  const settings = { email: { listen: { port: 2525, protocol: 'lmtp' } }, ...benchOptions.settings }
  const deps = openDoctorBench({ dns: dns.address, network: { authorities }, ...benchOptions, settings })
  try {
    return await examine(id, deps)
  } finally {
    for (const [name, records] of recordsBefore) records ? dns.set(name, records) : dns.remove(name)
  }
}

type BenchOptions = NonNullable<Parameters<typeof openDoctorBench>[0]>

const mx = { MX: [{ priority: 10, exchange: mxHost }] }

async function examineMailHost(id: string, plan: Parameters<typeof serveMail>[0]) {
  return examineZone(id, { [ownHost]: mx }, { ports: { [`${mxHost}:25`]: await serveMail(plan) } })
}

async function examineListener(plan: Parameters<typeof serveMail>[0]) {
  const port = await serveMail(plan)
  const ports = { [`127.0.0.1:${port}`]: port }
  const settings = { email: { listen: { port } } }
  return examine('mail.listener', openDoctorBench({ ports, settings, deps: { isRunning: true } }))
}

/** Examines a machine where a `postconf` that prints these settings is first in the path. */
async function examinePostfix(id: string, lines: readonly string[], listen: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-postconf-'))
  const program = join(folder, 'postconf')
  writeFileSync(program, `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\n`)
  chmodSync(program, 0o755)
  const { PATH } = process.env
  process.env.PATH = `${folder}${delimiter}${PATH}`
  onTestFinished(() => {
    process.env.PATH = PATH
  })
  return examine(id, openDoctorBench({ settings: { email: { listen: { port: 2525, protocol: 'lmtp', ...listen } } } }))
}

const examineSecret = (secret: string) =>
  examine('mail.secret', openDoctorBench({ settings: { email: { intake: { secret } } } }))

/** Examines the gateway's DKIM records, unchanged or spoilt. */
async function examineDkim(spoil: (value: string) => string) {
  const test = await openShared()
  const gateway = describeGateway(test.gateway(), Number(new URL(test.url()).port))
  const published = (await Promise.all(gateway.channels.map(channel => channel.keys?.list() ?? []))).flat()
  const keys = published.filter(({ dns }) => dns?.name.includes('._domainkey.'))
  const zone = Object.fromEntries(keys.map(({ dns }) => [dns?.name ?? '', { TXT: [spoil(dns?.value ?? '')] }]))
  return examineZone('mail.dkim', zone, { deps: { gateway } })
}

/** Examines the MTA-STS policy that a web server serves. */
async function examinePolicy(lines: readonly string[]) {
  const port = await serveHttp((_, answer) => answer.end(lines.join('\r\n')))
  const zone = { [ownHost]: mx, [`_mta-sts.${ownHost}`]: { TXT: ['v=STSv1; id=1;'] } }
  return examineZone('mail.mta_sts', zone, { loopback: { [`mta-sts.${ownHost}`]: port } })
}

const policyLines = ['version: STSv1', 'mode: enforce', 'max_age: 604800']
const reverseName = '5.113.0.203.in-addr.arpa'
const addressZone = { [ownHost]: mx, [mxHost]: { A: ['203.0.113.5'] } }

/** Examines a gateway in production whose smarthost returns its mail, or refuses it. */
async function examineLoop(returns: boolean) {
  const test = await openTestGateway(() => ({ dev: false }))
  onTestFinished(() => test.close())
  const { mail } = test.simulation
  const endRefusal = returns ? () => undefined : mail.refuse({ code: 550, message: '5.7.1 not by us', at: 'rcpt' })
  const pendingResponse = fetch(`${test.url()}/operator/api/doctor?only=mail`, {
    headers: { authorization: `Bearer ${operatorToken}` },
  })
  if (returns) {
    const probeMail = await awaitProbe(() => mail.received.find(({ envelope }) => envelope.from.startsWith('echo@')))
    const query = new URLSearchParams({ from: probeMail.envelope.from, to: 'echo@agents.test', ip: '127.0.0.1' })
    const authorization = `Bearer ${testIntakeSecret}`
    const headers = { authorization, 'content-type': 'message/rfc822' }
    const body = new Uint8Array(probeMail.octets)
    await fetch(`${test.url()}/email/inbound?${query}`, { method: 'POST', headers, body })
  }
  const { findings } = (await (await pendingResponse).json()) as {
    findings: Awaited<ReturnType<typeof examine>>[number][]
  }
  endRefusal()
  return findings.filter(finding => 'id' in finding && finding.id === 'mail.loop')
}

async function awaitProbe<Value>(find: () => Value | undefined): Promise<Value> {
  for (;;) {
    const value = find()
    if (value) return value
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Examines a gateway to which this many people of one domain wrote through a mailbox that forwards their mail. */
async function examineForwarded(people: number) {
  const test = await openTestGateway()
  onTestFinished(() => test.close())
  for (let index = 0; index < people; index += 1) {
    const from = `p${index}@alice.test`
    const { octets } = await test.simulation.mail.compose({ from, to: 'info@corp.test', text: `Hello ${index}` })
    const query = new URLSearchParams({ from, to: 'echo@agents.test', ip: '127.0.0.1' })
    const headers = { authorization: `Bearer ${testIntakeSecret}`, 'content-type': 'message/rfc822' }
    await fetch(`${test.url()}/email/inbound?${query}`, { method: 'POST', headers, body: new Uint8Array(octets) })
  }
  const gateway = describeGateway(test.gateway(), Number(new URL(test.url()).port))
  return examine('mail.forwarded', openDoctorBench({ deps: { gateway } }))
}

export const mailCases: Cases = {
  'mail.forwarded': {
    failingCase: {
      runCheck: () => examineForwarded(3),
      expectedDetail: '3 proven people wrote mail in the last 7 days',
    },
    passingCase: { runCheck: () => examineForwarded(2), expectedDetail: 'no mailbox seems to forward' },
  },
  'mail.smarthost': {
    failingCase: {
      runCheck: () => examineSmarthost('mail.smarthost', { banner: '554 no service' }),
      expectedDetail: 'the gateway cannot use the smarthost mx.agents.test:587: it says 554 no service',
    },
    passingCase: { runCheck: () => examineSmarthost('mail.smarthost', {}), expectedDetail: 'takes 26214400 bytes' },
  },
  'mail.smarthost_tls': {
    failingCase: {
      runCheck: () => examineSmarthost('mail.smarthost_tls', { extensions: ['SIZE 1'] }, { user: 'me', password: 'x' }),
      expectedDetail: 'offers no STARTTLS: mail and password can be read on the way',
    },
    passingCase: {
      runCheck: () => examineSmarthost('mail.smarthost_tls', {}),
      expectedDetail: 'with a valid certificate',
    },
  },
  'mail.listener': {
    failingCase: { runCheck: () => examineListener({ banner: '421 later' }), expectedDetail: 'it says 421 later' },
    passingCase: { runCheck: () => examineListener({}), expectedDetail: 'answers' },
  },
  'mail.relay': {
    failingCase: {
      runCheck: () => examineMailHost('mail.relay', { rcpt: '250 2.1.5 gladly' }),
      expectedDetail: 'mx.agents.test:25 relays mail for anybody: it is an open relay',
    },
    passingCase: {
      runCheck: () => examineMailHost('mail.relay', {}),
      expectedDetail: 'relays no mail for strangers (550)',
    },
  },
  'mail.secret': {
    failingCase: { runCheck: () => examineSecret('short'), expectedDetail: 'the secret of the intake is so short' },
    passingCase: { runCheck: () => examineSecret('Jr5tYq0vWc7bK2mX9sLd4hNf'), expectedDetail: 'long enough' },
  },
  'mail.sizes': {
    failingCase: {
      runCheck: () => examineSmarthost('mail.sizes', { extensions: ['SIZE 1000000'] }),
      expectedDetail: 'the smarthost takes mail up to 1000000 bytes',
    },
    passingCase: { runCheck: () => examineSmarthost('mail.sizes', {}), expectedDetail: 'agree' },
  },
  'mail.postfix_smuggling': {
    failingCase: {
      runCheck: () => examinePostfix('mail.postfix_smuggling', ['smtpd_forbid_bare_newline = no']),
      expectedDetail: 'Postfix takes smuggled mail',
    },
    passingCase: {
      runCheck: () =>
        examinePostfix('mail.postfix_smuggling', [
          'smtpd_forbid_bare_newline = normalize',
          'smtpd_forbid_bare_newline_exclusions =',
        ]),
      expectedDetail: 'stops smuggled mail',
    },
  },
  'mail.postfix_xforward': {
    failingCase: {
      runCheck: () => examinePostfix('mail.postfix_xforward', ['lmtp_send_xforward_command = no']),
      expectedDetail: 'does not tell the gateway which client sent a mail',
    },
    passingCase: {
      runCheck: () =>
        examinePostfix('mail.postfix_xforward', ['lmtp_send_xforward_command = yes'], { trusted_peers: ['127.0.0.1'] }),
      expectedDetail: 'tells the gateway which client sent a mail',
    },
  },
  'mail.mx': {
    failingCase: { runCheck: () => examineZone('mail.mx', { [ownHost]: {} }), expectedDetail: 'it has no MX record' },
    passingCase: { runCheck: () => examineZone('mail.mx', { [ownHost]: mx }), expectedDetail: `go to ${mxHost}` },
  },
  'mail.mx_host': {
    failingCase: {
      runCheck: () => examineMailHost('mail.mx_host', { certificate: makeCertificate('other.test') }),
      expectedDetail: 'its certificate is not valid',
    },
    passingCase: { runCheck: () => examineMailHost('mail.mx_host', {}), expectedDetail: 'with a valid certificate' },
  },
  'mail.spf': {
    failingCase: {
      runCheck: () => examineZone('mail.spf', { [ownHost]: { ...mx, TXT: ['v=spf1 +all'] } }),
      expectedDetail: 'allows every host',
    },
    passingCase: {
      runCheck: () => examineZone('mail.spf', { [ownHost]: { ...mx, TXT: ['v=spf1 mx -all'] } }),
      expectedDetail: 'SPF: ',
    },
  },
  'mail.dkim': {
    failingCase: {
      runCheck: () => examineDkim(value => value.replace('p=', 'p=AAAA')),
      expectedDetail: 'missing or different in DNS: postern._domainkey.agents.test',
    },
    passingCase: {
      runCheck: () => examineDkim(value => value),
      expectedDetail: 'DKIM: postern._domainkey.agents.test',
    },
  },
  'mail.dmarc': {
    failingCase: {
      runCheck: () => examineZone('mail.dmarc', { [`_dmarc.${ownHost}`]: { TXT: ['v=DMARC1; p=none'] } }),
      expectedDetail: 'lets forgeries through (p=none)',
    },
    passingCase: {
      runCheck: () => examineZone('mail.dmarc', { [`_dmarc.${ownHost}`]: { TXT: ['v=DMARC1; p=reject'] } }),
      expectedDetail: 'DMARC: p=reject',
    },
  },
  'mail.mta_sts': {
    failingCase: {
      runCheck: () => examinePolicy([...policyLines, 'mx: *.old.agents.test']),
      expectedDetail: `does not name ${mxHost}`,
    },
    passingCase: {
      runCheck: () => examinePolicy([...policyLines, 'mx: *.agents.test']),
      expectedDetail: 'names every mail host (mode enforce)',
    },
  },
  'mail.tls_reports': {
    failingCase: {
      runCheck: () => examineZone('mail.tls_reports', { [`_mta-sts.${ownHost}`]: { TXT: ['v=STSv1; id=1;'] } }),
      expectedDetail: 'cannot report failed deliveries',
    },
    passingCase: {
      runCheck: () =>
        examineZone('mail.tls_reports', {
          [`_smtp._tls.${ownHost}`]: { TXT: [`v=TLSRPTv1; rua=mailto:tls@${ownHost}`] },
        }),
      expectedDetail: 'have an address',
    },
  },
  'mail.ptr': {
    failingCase: { runCheck: () => examineZone('mail.ptr', addressZone), expectedDetail: '203.0.113.5 has no name' },
    passingCase: {
      runCheck: () => examineZone('mail.ptr', { ...addressZone, [reverseName]: { PTR: [mxHost] } }),
      expectedDetail: `203.0.113.5 is called ${mxHost}`,
    },
  },
  'mail.loop': {
    failingCase: { runCheck: () => examineLoop(false), expectedDetail: 'did not take a test mail' },
    passingCase: { runCheck: () => examineLoop(true), expectedDetail: 'came back as proven (email-dmarc)' },
  },
}
