// Configures the VitePress site of the docs.
import { fileURLToPath } from 'node:url'
import type { DefaultTheme, UserConfig } from 'vitepress'
import { slugify } from '../links/check-links.ts'
import { writeExtraFiles } from './extra-files.ts'
import { readRepositoryUrl, useRepositoryLinks } from './links.ts'
import type { Section } from './sections.ts'
import { readSections } from './sections.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Creates the configuration of the site, which loads nothing from other hosts during the build or in the browser. */
export function createSiteConfig(): UserConfig<DefaultTheme.Config> {
  const repository = readRepositoryUrl(root)
  const sections = readSections(`${root}docs`)
  return {
    title: 'Postern',
    description:
      'One address for an agent, reachable by ActivityPub, A2A, email and chat, with every sender’s proof checked',
    lang: 'en',
    cleanUrls: false,
    lastUpdated: false,
    head: [['link', { rel: 'icon', href: '/favicon.svg', type: 'image/svg+xml' }]],
    // A repository shows a folder's README, but a site shows its index.
    rewrites: path => path.replace(/(^|\/)README\.md$/, '$1index.md'),
    markdown: {
      languageAlias: { caddy: 'nginx' },
      anchor: { slugify },
      toc: { slugify },
      theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
      config: parser => {
        useRepositoryLinks(parser, { root, repository })
        keepText(parser)
      },
    },
    themeConfig: {
      nav: sections.map(section => ({
        text: section.title,
        link: firstLinkOf(section),
        activeMatch: `^/${section.folder}/`,
      })),
      sidebar: sections.map(describeSection),
      outline: { level: [2, 3] },
      search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: weighPage } } } },
      ...(repository && { editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' } }),
      docFooter: { prev: 'Previous', next: 'Next' },
    },
    // The home page has no headings to list, and its picture needs the width.
    transformPageData: ({ relativePath, frontmatter }) => {
      if (relativePath === 'index.md') Object.assign(frontmatter, { aside: false })
    },
    buildEnd: ({ outDir }) => writeExtraFiles({ root, outDir, sections }),
  }
}

function firstLinkOf({ index, groups }: Section): string {
  return `/${index ?? linkOf(groups[0]?.pages[0]?.path ?? '')}`
}

function linkOf(path: string): string {
  return path.replace(/\.md$/, '')
}

/** Describes a section of the sidebar. All sections but the first are folded; the section of the current page opens by itself. */
function describeSection({ title, folder, index, groups }: Section): DefaultTheme.SidebarItem {
  const listPages = (pages: Section['groups'][number]['pages']) =>
    pages.map(({ path, title: text }) => ({ text, link: `/${linkOf(path)}` }))
  const items: DefaultTheme.SidebarItem[] = groups.flatMap((group): DefaultTheme.SidebarItem[] =>
    group.title === '' ? listPages(group.pages) : [{ text: group.title, items: listPages(group.pages) }],
  )
  return {
    text: title,
    collapsed: folder !== 'start',
    items: index === undefined ? items : [{ text: 'Overview', link: `/${index}` }, ...items],
  }
}

/** Ranks guides before tables of keys, and both before decision records. */
function weighPage(id: string): number {
  if (/\/(start|guides)\//.test(id)) return 3
  return /\/(conformance|decisions)\//.test(id) ? 0.3 : 1
}

type RenderRule = (
  tokens: readonly { readonly content: string }[],
  index: number,
  ...otherArguments: unknown[]
) => string

/** Prevents Vue from interpreting `{{ }}` in a text. */
function keepText(parser: { readonly renderer: { readonly rules: object } }): void {
  const rules = parser.renderer.rules as Record<string, RenderRule>
  const render = rules.text
  if (!render) throw new Error('Cannot set up the site: the Markdown parser has no rule for text')
  rules.text = (...input) => render(...input).replaceAll('{{', '&#123;&#123;')
}
