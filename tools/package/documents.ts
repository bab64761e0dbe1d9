import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** What is copied as it is: from the root, to the same place in the package. */
const copied = [
  'LICENSE',
  'CHANGELOG.md',
  'docs/*.md',
  'docs/{start,guides,reference,explanation}/**/*.md',
  'examples/**/*',
]

/** Copies the documents. Links to what the package does not contain become plain text. */
export function copyDocuments(root: string, folder: string): void {
  const paths = copied.flatMap(pattern => globSync(pattern, { cwd: root })).filter(path => /\.\w+$|LICENSE$/.test(path))
  const targets = new Set(['README.md', ...paths])
  const readme = readFileSync(join(root, 'apps/gateway/bin/README.md'), 'utf8')
  write(join(folder, 'README.md'), keepLinks(readme, 'README.md', targets))
  for (const path of paths) {
    const bytes = readFileSync(join(root, path))
    write(join(folder, path), path.endsWith('.md') ? keepLinks(bytes.toString('utf8'), path, targets) : bytes)
  }
}

function write(file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** `[text](path)` of a relative path that is in the package stays; of any other one the text does, and of a picture nothing. */
export function keepLinks(text: string, from: string, targets: ReadonlySet<string>): string {
  return text.replace(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (whole: string, words: string, link: string) => {
    if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(link)) return whole
    const path = normalize(join(dirname(from), link.replace(/#.*$/, ''))).replace(/\/$/, '')
    const isFolder = [...targets].some(target => target.startsWith(`${path}/`))
    if (targets.has(path) || isFolder) return whole
    return whole.startsWith('!') ? '' : words
  })
}

/**
 * Puts the licences of the libraries that the bundle contains into one file, as they ask for. `contained`: files of these libraries.
 * @throws Error for one without a licence
 */
export function writeLicences(folder: string, contained: readonly string[]): void {
  const folders = [...new Set(contained.map(findPackageFolder))].toSorted()
  const sections = folders.map(each => {
    const { name, version, license } = JSON.parse(readFileSync(join(each, 'package.json'), 'utf8')) as {
      readonly name: string
      readonly version: string
      readonly license?: string
    }
    const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: each })
    if (license === undefined && file === undefined) throw new Error(`Cannot bundle ${name}: it has no licence`)
    const text = file === undefined ? '' : readFileSync(join(each, file), 'utf8').trim()
    return `${name} ${version}\nLicence: ${license ?? 'see below'}\n\n${text}`.trim()
  })
  const intro = 'The bundle contains code of these libraries.'
  write(join(folder, 'THIRD-PARTY-LICENCES.txt'), `${[intro, ...sections].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
}

/** The folder of the package that a file belongs to. */
function findPackageFolder(file: string): string {
  const own = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replace(/^\0/, '').replace(/\?.*$/, ''))?.[0]
  if (own === undefined || !existsSync(join(own, 'package.json'))) throw new Error(`Cannot find the package of ${file}`)
  return own
}
