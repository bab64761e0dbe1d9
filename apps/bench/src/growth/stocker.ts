// Fills stores to several sizes and measures admission to each, in a process of its own.
import { cpSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '@postern/pipeline'
import { measureInterleaved } from '../harness/interleave.ts'
import { openMeasuredGateway } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'
import { measureAdmission, stockStore } from './stock.ts'

export type StockOrder =
  | { readonly step: 'fill'; readonly base: string; readonly marks: readonly number[] }
  | { readonly step: 'admit'; readonly directories: readonly string[]; readonly rounds: number; readonly count: number }

/** The numbers of the messages that are admitted for measuring, above those of every stored message. */
let next = 1_000_000_000

await serveMeasured(async () => ({
  port: 0,
  handled: () => 0,
  work: input => obey(input as StockOrder),
}))

function obey(order: StockOrder) {
  return order.step === 'fill' ? fill(order.base, order.marks) : admitByTurns(order)
}

/**
 * Fills one store, and copies it at each mark except the last, for which it is used itself: `<base>/<mark>`.
 * @returns the size of each store in bytes, by mark
 */
async function fill(base: string, marks: readonly number[]): Promise<readonly number[]> {
  const growing = join(base, 'growing')
  mkdirSync(growing, { recursive: true })
  let storedCount = 0
  const bytes: number[] = []
  for (const mark of marks) {
    await withStore(growing, store => stockStore(store, storedCount, mark))
    storedCount = mark
    bytes.push(sizeOf(growing))
    const copyPath = join(base, String(mark))
    if (mark === marks.at(-1)) renameSync(growing, copyPath)
    else cpSync(growing, copyPath, { recursive: true })
  }
  return bytes
}

/** Measures admission to the stores by turns. @returns costs by directory and round */
async function admitByTurns({ directories, rounds, count }: Extract<StockOrder, { step: 'admit' }>) {
  const gateways = await Promise.all(directories.map(directory => openMeasuredGateway(directory)))
  const costs = await measureInterleaved(gateways, { title: '', rounds, progress() {} }, ({ store }) => {
    const from = next
    next += count
    return measureAdmission(store, from, count)
  })
  await Promise.all(gateways.map(gateway => gateway.stop()))
  return costs
}

/** Opens a gateway without starting it, so that nothing else works on its store. */
async function withStore(directory: string, use: (store: Store) => Promise<void>): Promise<void> {
  const gateway = await openMeasuredGateway(directory)
  await use(gateway.store)
  await gateway.stop()
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
}
