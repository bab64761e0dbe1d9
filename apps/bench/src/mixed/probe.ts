// Measures the memory of a gateway under mixed load and under odd mail.

import { quantile } from '../harness/statistics.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import type { LaunchedGateway, MemoryReport } from '../ours/launched-gateway.ts'
import { launchGateway, pauseFor } from '../ours/launched-gateway.ts'
import type { GatewayLoad, GatewayLoadResult } from './drive.ts'
import { driveGateway } from './drive.ts'
import type { Mix } from './mix.ts'
import { openMix } from './mix.ts'

const title = 'Memory under mixed load'
const warmUpSeconds = 10
const readEveryMs = 5_000

/** The length of each load, seconds. */
const lengths = { full: 600, usual: 120, quick: 40 } as const

/** The memory under one load, bytes. */
interface MemoryReading extends GatewayLoadResult {
  /** The median of the second half of the time. */
  readonly plateau: number
  readonly peak: number
  readonly lastReport: MemoryReport
}

/** Measures the RSS of `postern start` under a load of all four channels at half of its capacity, and then under odd mail at full speed. */
export async function probeMixed({ quick, full, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const seconds = full ? lengths.full : quick ? lengths.quick : lengths.usual
  await using mix = await openMix()
  return [
    ...toFigures('mixed, half capacity', await loadByHalf(mix, seconds, progress)),
    ...toFigures('odd mail, full capacity', await floodWithMail(mix, seconds, progress)),
  ]
}

type Tell = ProbeOptions['progress']

async function loadByHalf({ config, makeMixed: make }: Mix, seconds: number, progress: Tell): Promise<MemoryReading> {
  await using gateway = await launchGateway(config)
  const { perSecond } = await driveGateway({ port: gateway.port, seconds: warmUpSeconds, makeRequest: make })
  progress(`mixed: ${perSecond.toFixed(0)} requests a second are all it can carry`)
  return await watchDrive(
    gateway,
    { port: gateway.port, seconds, perSecond: perSecond / 2, makeRequest: make },
    progress,
  )
}

async function floodWithMail(
  { config, makeOddMail: make }: Mix,
  seconds: number,
  progress: Tell,
): Promise<MemoryReading> {
  await using gateway = await launchGateway(config)
  return await watchDrive(gateway, { port: gateway.port, seconds, makeRequest: make }, progress)
}

async function watchDrive(gateway: LaunchedGateway, drive: GatewayLoad, progress: Tell): Promise<MemoryReading> {
  const sizes: number[] = []
  let isOver = false
  const driving = driveGateway(drive).finally(() => (isOver = true))
  while (!isOver) {
    await Promise.race([driving, pauseFor(readEveryMs)])
    const { now, peak } = gateway.readResident()
    sizes.push(now)
    progress(`mixed: RSS ${toMegabytes(now)} of at most ${toMegabytes(peak)}; ${describe(await gateway.readMemory())}`)
  }
  const driven = await driving
  progress(`mixed: ${driven.perSecond.toFixed(0)} a second; ${JSON.stringify([...driven.statuses])}`)
  const plateau = quantile(sizes.slice(sizes.length / 2), 0.5)
  return { ...driven, plateau, peak: gateway.readResident().peak, lastReport: await gateway.readMemory() }
}

function describe({ heapUsed, heapTotal, external, arrayBuffers, threads }: MemoryReport): string {
  const threadSizes = threads.map(({ committed, used }) => `${toMegabytes(used)} of ${toMegabytes(committed)}`)
  const heapSize = `heap ${toMegabytes(heapUsed)} of ${toMegabytes(heapTotal)}`
  return `${heapSize}, external ${toMegabytes(external)} (buffers ${toMegabytes(arrayBuffers)}), threads ${threadSizes.join(', ')}`
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function toFigures(load: string, { plateau, peak, lastReport, perSecond, statuses }: MemoryReading): readonly Figure[] {
  const errorCount = [...statuses].filter(([status]) => status >= 500).reduce((sum, [, count]) => sum + count, 0)
  const note = `${perSecond.toFixed(0)} requests a second, ${errorCount} put off or failed; at the end ${describe(lastReport)}`
  return [
    { case: title, name: `RSS, ${load}`, note, value: plateau / 1e6, unit: 'MB' },
    {
      case: title,
      name: `peak RSS, ${load}`,
      note: 'the most there ever was, the start and the search for its limit included',
      value: peak / 1e6,
      unit: 'MB',
    },
  ]
}
