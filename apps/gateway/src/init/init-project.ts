// Writes a new project, and prints the next steps.
import { copyFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import type { Output } from '@postern/operator/commands'
import { findOwnPackage } from './own-package.ts'
import type { AnswersFromFlags } from './project.ts'
import { askForProject, describeProject, writeProject } from './project.ts'

export async function initProject(
  folder: string,
  answersFromFlags: AnswersFromFlags,
  { print }: Pick<Output, 'print'>,
): Promise<void> {
  const { stdin: input, stdout: output } = process
  const answers = await askForProject(answersFromFlags, { input, output })
  const projectFolder = resolve(folder)
  const { dependency, tarball } = findOwnPackage()
  const files = describeProject(answers, { dependency })
  writeProject(projectFolder, files)
  if (tarball !== undefined) copyFileSync(tarball, join(projectFolder, basename(tarball)))
  const steps = [
    ...(projectFolder === process.cwd() ? [] : [`cd ${relative(process.cwd(), projectFolder)}`]),
    'npm install',
    'npm test',
    'npm run dev',
  ]
  print(
    [
      ...[...files.keys()].map(path => `wrote ${path}`),
      '',
      'Next:',
      '',
      ...steps.map(step => `  ${step}`),
      '',
      `Your agent is agents/${answers.agent}.ts.`,
    ].join('\n'),
  )
}
