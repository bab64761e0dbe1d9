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
    fails: { examine: () => examine('machine.node', withFacts({ nodeVersion: '20.11.0' })), says: 'is older than' },
    holds: { examine: () => examine('machine.node', withFacts({})), says: process.versions.node },
  },
  'machine.memory': {
    fails: {
      examine: () =>
        examine('machine.memory', withFacts({ readMemory: () => ({ ...memory, availableBytes: 40 * 1024 ** 2 }) })),
      says: '40 MiB of 2.0 GiB of memory are free: the system may end the gateway',
    },
    holds: { examine: () => examine('machine.memory', withFacts({ readMemory: () => memory })), says: '1.0 GiB of' },
  },
  'machine.disk': {
    fails: {
      examine: () => examine('machine.disk', withFacts({ readDisk: () => ({ ...disk, freeBytes: 50 * 1024 ** 2 }) })),
      says: 'a full disk stops the gateway',
    },
    holds: {
      examine: () => examine('machine.disk', withFacts({ readDisk: () => disk })),
      says: '20.0 GiB of 40.0 GiB',
    },
  },
  'machine.permissions': {
    fails: { examine: () => examineFolder(0o755, 0o644), says: 'others on this machine may read' },
    holds: { examine: () => examineFolder(0o700, 0o644), says: 'nobody else' },
  },
  'machine.clock': {
    fails: { examine: () => examineSites([-180_000, 0, -120_000]), says: /is 1[12]\d\.\d s fast by 3 web sites/ },
    holds: { examine: () => examineSites([0, 600_000, 1_000]), says: 'by 3 web sites' },
  },
  'machine.time_server': {
    fails: { examine: () => examineTimeServer(90_000), says: 's slow by pool.ntp.org' },
    holds: { examine: () => examineTimeServer(0), says: 'is right to' },
  },
}
