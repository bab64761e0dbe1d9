// Lists installations for the doctor's checks of the machine and its clock.
import { createSocket } from 'node:dgram'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineFacts } from '@postern/operator'
import { readMachineFacts } from '@postern/operator'
import { onTestFinished } from 'vitest'
import { minimumNode } from '../../../bin/launch.mjs'
import { openDoctorBench, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'

const gib = 1024 ** 3
const withFacts = (facts: Partial<MachineFacts>) =>
  openDoctorBench({ deps: { facts: { ...readMachineFacts(minimumNode), ...facts } } })
const disk = { freeBytes: 20 * gib, totalBytes: 40 * gib, freeFiles: 1_000_000, totalFiles: 2_000_000 }
const memory = { totalBytes: 2 * gib, availableBytes: gib, heapBytes: gib }

function examineFolder(mode: number, fileMode: number) {
  const deps = openDoctorBench()
  const file = join(deps.directory, 'postern.db')
  writeFileSync(file, '')
  chmodSync(file, fileMode)
  chmodSync(deps.directory, mode)
  return examine('machine.permissions', deps)
}

/** Examines three sites whose clocks are ahead of ours by these times, in ms. */
async function examineSites(aheadMs: readonly number[]) {
  const ports = await Promise.all(
    aheadMs.map(ahead =>
      serveHttp((_, answer) => answer.writeHead(200, { date: new Date(Date.now() + ahead).toUTCString() }).end()),
    ),
  )
  const [httpPort = 1, secondPort = 1, thirdPort = 1] = ports
  const loopback = { 'letsencrypt.org': httpPort, 'www.debian.org': secondPort, 'www.wikipedia.org': thirdPort }
  return examine('machine.clock', openDoctorBench({ loopback, settings: {} }))
}

/** Examines a time server that answers as NTP does (RFC 4330). */
async function examineTimeServer(aheadMs: number) {
  const server = createSocket('udp4')
  server.on('message', (_, peer) => {
    const answer = Buffer.alloc(48)
    answer.writeUInt32BE(2_208_988_800 + Math.floor((Date.now() + aheadMs) / 1000), 40)
    server.send(answer, peer.port, peer.address)
  })
  await new Promise<void>(resolve => server.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return examine('machine.time_server', openDoctorBench({ ports: { 'pool.ntp.org:123': server.address().port } }))
}

export const machineCases: Cases = {
  'machine.node': {
    failingCase: {
      runCheck: () => examine('machine.node', withFacts({ nodeVersion: '20.11.0' })),
      expectedDetail: 'is older than',
    },
    passingCase: { runCheck: () => examine('machine.node', withFacts({})), expectedDetail: process.versions.node },
  },
  'machine.memory': {
    failingCase: {
      runCheck: () =>
        examine('machine.memory', withFacts({ readMemory: () => ({ ...memory, availableBytes: 40 * 1024 ** 2 }) })),
      expectedDetail: '40 MiB of 2.0 GiB of memory are free: the system may end the gateway',
    },
    passingCase: {
      runCheck: () => examine('machine.memory', withFacts({ readMemory: () => memory })),
      expectedDetail: '1.0 GiB of',
    },
  },
  'machine.disk': {
    failingCase: {
      runCheck: () => examine('machine.disk', withFacts({ readDisk: () => ({ ...disk, freeBytes: 50 * 1024 ** 2 }) })),
      expectedDetail: 'a full disk stops the gateway',
    },
    passingCase: {
      runCheck: () => examine('machine.disk', withFacts({ readDisk: () => disk })),
      expectedDetail: '20.0 GiB of 40.0 GiB',
    },
  },
  'machine.permissions': {
    failingCase: { runCheck: () => examineFolder(0o755, 0o644), expectedDetail: 'others on this machine may read' },
    passingCase: { runCheck: () => examineFolder(0o700, 0o644), expectedDetail: 'nobody else' },
  },
  'machine.clock': {
    failingCase: {
      runCheck: () => examineSites([-180_000, 0, -120_000]),
      expectedDetail: /is 1[12]\d\.\d s fast by 3 web sites/,
    },
    passingCase: { runCheck: () => examineSites([0, 600_000, 1_000]), expectedDetail: 'by 3 web sites' },
  },
  'machine.time_server': {
    failingCase: { runCheck: () => examineTimeServer(90_000), expectedDetail: 's slow by pool.ntp.org' },
    passingCase: { runCheck: () => examineTimeServer(0), expectedDetail: 'is right to' },
  },
}
