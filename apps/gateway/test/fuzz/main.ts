// Attacks a running gateway with odd requests (`npm run fuzz`).
import '@postern/testing/end-children'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCase, writeCase } from './cases/case.ts'
import { fuzzUsage, parseFuzzOptions } from './options.ts'
import type { FuzzReport } from './run.ts'
import { runFuzz } from './run.ts'
import { openGatewayTarget } from './target/open-gateway.ts'
import type { FuzzFinding } from './watch/findings.ts'

// The run fails if the gateway answers 500, exits, logs a bug, stalls, or leaves a connection unanswered.

const print = (text: string) => void process.stdout.write(`${text}\n`)

async function main(argv: readonly string[]): Promise<number> {
  const options = parseFuzzOptions(argv)
  const repeated = options.repeatFile
    ? readFileSync(options.repeatFile, 'utf8').trim().split('\n').map(readCase)
    : undefined
  const protocol = options.seed % 2 === 0 ? 'smtp' : 'lmtp'
  print(
    `fuzz: --seed ${options.seed} --seconds ${options.durationSeconds}${options.endpointFilter ? ` --only "${options.endpointFilter}"` : ''}`,
  )
  const gateway = await openGatewayTarget(protocol)
  const report = await runFuzz(gateway, options, repeated).finally(gateway.close)
  printReport(report, options.seed)
  return report.findings.length > 0 ? 1 : 0
}

function printReport({ sentCount, endpoints, statuses, findings }: FuzzReport, seed: number): void {
  const counts = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
  print(`${sentCount} requests to ${endpoints} endpoints (${counts.join(', ')})`)
  const directory = findings.length > 0 ? mkdtempSync(join(tmpdir(), 'postern-fuzz-findings-')) : ''
  for (const [index, finding] of findings.entries()) printFinding(finding, join(directory, `${index + 1}.jsonl`), seed)
  print(findings.length === 0 ? 'nothing found' : `${findings.length} found`)
}

function printFinding({ text, suspects }: FuzzFinding, path: string, seed: number): void {
  const lines = suspects.map(writeCase)
  writeFileSync(path, `${lines.join('\n')}\n`)
  const names = [...new Set(suspects.map(({ endpoint }) => endpoint))]
  print(`\nFOUND at ${names.join(', ')}: ${text}\nAgain: npm run fuzz -- --seed ${seed} --repeat ${path}`)
  for (const line of lines) print(line.slice(0, 4_000))
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  process.stderr.write(`${error.message}\n\n${fuzzUsage}\n`)
  process.exitCode = 2
}
