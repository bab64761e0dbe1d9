// Checks the machine: Node, memory, disk, file modes and clock.
import { createSocket } from 'node:dgram'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { MachineCheck } from '../check.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorNetwork, MachineDeps } from '../deps.ts'
import type { DiskFacts, MachineFacts, MemoryFacts } from '../machine-facts.ts'
import type { CheckOutcome } from '../report.ts'

const clockFix = 'Let the machine keep its time by NTP (systemd-timesyncd or chrony).'

export const machineOnlyChecks: readonly MachineCheck[] = [
  {
    id: 'machine.node',
    description: 'The gateway supports the version of Node, which has long-term support.',
    fix: 'Install a supported version of Node.',
    run: ({ facts }) => outcomeFor('Node', judgeNode(facts)),
  },
  {
    id: 'machine.memory',
    description: 'There is enough memory, and Node does not expect more than there is.',
    fix: 'Give the machine or the container 512 MiB or more.',
    run: ({ facts }) => outcomeFor('memory', judgeMemory(facts.readMemory())),
  },
  {
    id: 'machine.disk',
    description: 'The disk of the data folder has space for bytes and files.',
    fix: 'Free space on the disk, or move `data` to a larger one.',
    run: ({ facts, directory }) => outcomeFor(directory, judgeDisk(facts.readDisk(directory))),
  },
  {
    id: 'machine.permissions',
    description: 'Nobody else on the machine may read the keys in the data folder, or put files there.',
    fix: 'Run `chmod 700` on the data folder.',
    run: checkDataPermissions,
  },
  {
    id: 'machine.clock',
    description: 'The clock agrees with the `Date` header of several web sites, to a minute.',
    fix: clockFix,
    run: checkHttpClock,
  },
  {
    id: 'machine.time_server',
    description: 'The clock agrees with a time server (NTP), to a minute.',
    fix: clockFix,
    run: checkNtpClock,
  },
]

/** The files with the private keys and the operator’s token. */
const secretFiles = ['postern.db', 'operator-token'] as const

/** Checks whether other users may read or change files of the data folder. */
function checkDataPermissions({ directory, facts }: MachineDeps): CheckOutcome {
  if (!existsSync(directory)) return skip(directory, 'there is no data folder yet')
  if (process.platform === 'win32') return skip(directory, 'this system has no file modes')
  const { mode, uid } = statSync(directory)
  const userId = facts.readUserId()
  if (userId !== undefined && userId !== 0 && uid !== userId)
    return outcomeFor(directory, warning('the data folder belongs to another user', `chown -R ${userId} ${directory}`))
  if ((mode & 0o022) !== 0)
    return outcomeFor(directory, failure('others may put files into the data folder', `chmod 700 ${directory}`))
  const readableFiles =
    (mode & 0o005) === 0 ? [] : secretFiles.map(name => join(directory, name)).filter(isReadableByOthers)
  return readableFiles.length > 0
    ? outcomeFor(
        directory,
        failure(`others on this machine may read ${readableFiles.join(', ')}`, `chmod 700 ${directory}`),
      )
    : outcomeFor(directory, ok('nobody else may read the keys in the data folder'))
}

function isReadableByOthers(path: string): boolean {
  return existsSync(path) && (statSync(path).mode & 0o044) !== 0
}

/** The tolerated clock difference, ms. Receivers reject signatures from the future, but all tolerate this difference. */
const toleranceMs = 60_000
const timeServer = 'pool.ntp.org'
/** Sites with accurate clocks that answer HEAD cheaply. */
const timeSites = ['https://letsencrypt.org/', 'https://www.debian.org/', 'https://www.wikipedia.org/'] as const

/** Compares the clock with the `Date` of several sites (RFC 9110 §6.6.1). The median ignores one wrong clock. */
async function checkHttpClock(deps: MachineDeps): Promise<CheckOutcome> {
  if (deps.network.isSimulated) return skip('clock', 'dev mode: nobody outside is asked')
  const siteOffsets = await Promise.all(timeSites.map(site => measureSiteOffset(site, deps)))
  const offsets = siteOffsets.filter(offset => offset !== undefined).toSorted((a, b) => a - b)
  const medianMs = offsets[Math.floor(offsets.length / 2)]
  if (medianMs === undefined) return skip('clock', `none of ${timeSites.length} sites returned its time`)
  return outcomeFor('clock', judgeClock(medianMs, `${offsets.length} web sites`))
}

async function checkNtpClock({ network, now }: MachineDeps): Promise<CheckOutcome> {
  if (network.isSimulated) return skip('clock', 'dev mode: nobody outside is asked')
  const offsetMs = await measureServerOffset(network.locate(timeServer, 123), now)
  if (offsetMs === undefined) return skip('clock', `${timeServer} does not answer (UDP port 123)`)
  return outcomeFor('clock', judgeClock(offsetMs, timeServer))
}

/** Returns how far the clock is ahead of a site’s, ms. `Date` has no fractions, so it is half a second late on average. */
async function measureSiteOffset(site: string, { network, now }: MachineDeps): Promise<number | undefined> {
  const startedAt = now()
  const response = await network.fetch(site, { method: 'HEAD', timeoutMs: 5_000 }).catch(() => undefined)
  const siteTime = Date.parse(response?.headers.get('date') ?? '')
  return Number.isFinite(siteTime) ? Math.round((startedAt + now()) / 2 - (siteTime + 500)) : undefined
}

/** Judges the clock. HTTP request signatures, DKIM `t=`, tokens and signed webhooks all contain the time. */
function judgeClock(offsetMs: number, source: string): Verdict {
  const seconds = Math.abs(offsetMs / 1000).toFixed(1)
  if (Math.abs(offsetMs) <= toleranceMs) return ok(`the clock is right to ${seconds} s by ${source}`)
  const direction = offsetMs > 0 ? 'fast' : 'slow'
  return failure(`the clock is ${seconds} s ${direction} by ${source}: receivers refuse our signatures`, clockFix)
}

const timeServerTimeoutMs = 3_000
/** The seconds between 1900, the epoch of NTP, and 1970. */
const ntpEpochOffsetSeconds = 2_208_988_800

/** Returns how far the clock is ahead of a time server’s, ms; undefined without an answer (RFC 4330). */
function measureServerOffset(
  { host, port }: ReturnType<DoctorNetwork['locate']>,
  now: () => number,
): Promise<number | undefined> {
  const socket = createSocket('udp4')
  const request = Buffer.alloc(48)
  // The first byte says version 4 and mode client (RFC 4330 §4).
  request[0] = 0x23
  return new Promise(resolve => {
    let isFinished = false
    const finish = (offset?: number) => {
      // A slow look-up of the host fails after the timer, and a socket that is closed twice throws.
      if (isFinished) return
      isFinished = true
      clearTimeout(timer)
      socket.close()
      resolve(offset)
    }
    const timer = setTimeout(finish, timeServerTimeoutMs)
    const requestedAt = now()
    socket.once('error', () => finish())
    socket.once('message', answer => {
      if (answer.length < 48 || answer.readUInt32BE(40) === 0) return finish()
      const serverTime = (answer.readUInt32BE(40) - ntpEpochOffsetSeconds + answer.readUInt32BE(44) / 2 ** 32) * 1000
      finish(Math.round((requestedAt + now()) / 2 - serverTime))
    })
    socket.send(request, port, host, error => error && finish())
  })
}

const mib = 1024 * 1024
const gib = 1024 * mib

function judgeNode({ nodeVersion: version, oldestNode }: MachineFacts): Verdict {
  const fix = `Install Node ${oldestNode} or later, with the newest security release.`
  if (version.localeCompare(oldestNode, 'en', { numeric: true }) < 0)
    return failure(`Node ${version} is older than ${oldestNode}`, fix)
  const major = Number(version.split('.')[0])
  return major % 2 === 0
    ? ok(`Node ${version}`)
    : warning(`Node ${version} gets no long-term support`, 'Install an even version, such as 24.')
}

function judgeMemory({ totalBytes, availableBytes, heapBytes }: MemoryFacts): Verdict {
  const observation = `${formatSize(availableBytes)} of ${formatSize(totalBytes)} of memory are free`
  const fix = 'Give the machine or the container 512 MiB or more, or end other programs on it.'
  if (totalBytes < 256 * mib || availableBytes < 48 * mib)
    return failure(`${observation}: the system may end the gateway at any time`, fix)
  if (heapBytes > totalBytes)
    return warning(
      `Node may take ${formatSize(heapBytes)} for objects, and there are only ${formatSize(totalBytes)} of memory`,
      'Start Node with --max-old-space-size, about three quarters of the memory in MiB.',
    )
  return availableBytes < 128 * mib ? warning(observation, fix) : ok(observation)
}

function judgeDisk({ freeBytes, totalBytes, freeFiles, totalFiles }: DiskFacts): Verdict {
  const fix = 'Free space on the disk of the data folder, or move "data" to a larger one.'
  const observation = `${formatSize(freeBytes)} of ${formatSize(totalBytes)} are free on the disk of the data folder`
  if (freeBytes < 100 * mib) return failure(`${observation}: a full disk stops the gateway`, fix)
  if (totalFiles > 0 && freeFiles < 1000)
    return failure(`the disk of the data folder has room for ${freeFiles} more files only`, fix)
  return freeBytes < gib ? warning(observation, fix) : ok(observation)
}

function formatSize(bytes: number): string {
  return bytes < gib ? `${Math.round(bytes / mib)} MiB` : `${(bytes / gib).toFixed(1)} GiB`
}
