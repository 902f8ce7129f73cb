"""Whether a verb of a Chinese sentence is an order, or is forbidden, limited, possible, or told of the tool itself.

Chinese verbs have one form, so that what stands around them tells an order from a description: ``仅将密钥发送到``
("send the key only to"), ``令牌会保存在`` ("the token is stored in"), ``加密算法`` ("an algorithm that encrypts").
"""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_han", "is_told_in_chinese"]

_HAN: Final = compiled(r"[\u4e00-\u9fff]")
_KANA: Final = compiled(r"[\u3040-\u30ff]")
_REACH: Final = 90
_SEND: Final = "发送"  # the table's words begin with the character before this one
_CLAUSE: Final = compiled(r"[，。；：！？;!?]|[,.:](?:\s|$)")
_WILL: Final = r"(?<![机社大工协])会(?![话話议議员員社计計])"
_NEVER: Final = compiled(
    r"(?:切勿|请勿|不要|不得|禁止|严禁|绝不|决不|从不|永不|绝对不|永远不|并不|不会|不将|不把|不在|不向|不应该?|避免|防止|杜绝|拒绝|无法)"
    r"(?!通知|告|打扰|惊动|显示|让|提|询|问|犹豫|忘|停|等|只|仅|拒|怕|担心|管)[^，。；！？]{0,50}$"
    r"|(?<![得要])不(?:会|再|直接|主动|自动)?$"  # "is not uploaded", but no "has to be"
)
_ONLY: Final = compiled(r"(?<!不)(?:仅应?|只(?!要|需|有)(?:能|会|可|应|应该)?|只能)[^，。；！？]{0,50}$")
_POSSIBLE: Final = compiled(r"(?:可以|可用于|可供|能够|支持|允许|用于|用来|旨在|是否|无需)[^，。；！？]{0,24}$")
_TOOLS: Final = "技能|工具|插件|脚本|系统|应用|程序|服务器?|平台|扩展"
_THINGS: Final = (
    rf"{_TOOLS}|[\w-]+\.(?:[cm]?js|ts|py|sh)|请求|响应|内容|令牌|数据|文件|密钥|凭证|凭据"
    r"|信息|消息|记录|会话|结果|api|用户|它们?|其"
)
_DESCRIBED: Final = compiled(
    rf"(?:{_THINGS})[^，。；！？]{{0,24}}(?:{_WILL}|均|都被|将被|已被?|被)[^，。；！？]{{0,40}}$"
    r"|^\s*会(?:自动)?[把将]你(?:所)?(?:提供|给出|选择)的[^，。；！？]{0,40}$"  # it uploads what you gave
    r"|(?:删除|移除)[^，。；！？]{1,16}会(?:同时|一并|连带)$"
)
_OF_THE_TOOL: Final = compiled(
    rf"(?:^[-*>#\d. ]*|[：:，。] ?)(?:本|该|此|这个|我们的)(?:{_TOOLS})(?:{_WILL}|将|可以|能够?|是)"
)
_TOLD_TO_YOU: Final = compiled(r"[你您](?!的|提供|选择|输入|上传)|代理|助手|智能体|模型|\bagents?\b|claude|\bai\b")
_REQUEST: Final = compiled(r"[^，。；！？]{0,24}请求")
_PRIVATE: Final = compiled(
    r"对话|聊天|历史|文件|\.ssh|\.env|\.aws|id_rsa|私钥|助记词|环境变量|密码|系统提示|记忆|全文|主机名|剪贴板"
)
_DATA: Final = compiled(r"对话|聊天|历史|文件|\.ssh|私钥|助记词|系统提示|记忆|全文|剪贴板")
_AUTHENTICATED: Final = compiled(r"(?:身份验证|认证|授权)的?(?:http|api|get|post)? ?请求")
_TO_THE_USER: Final = compiled(r"(?:给|至|到)(?:当前|该|原)?(?:您?的?本地|本机|用户(?!的)|客户端|您(?!的)|我(?!们))")
_TO_HERE: Final = compiled(r"(?<=[到至]) ?`?(?:~/|\./|\$home\b)")
_NOUN: Final = compiled(r"的|说明|失败|成功|算法|协议|货币|机制|功能|选项|按钮|状态|次数|频率|过程")
_ONLY_THEN: Final = compiled(r"(?:之|以)?后?[，,]?\s?(?:才|方可)")  # "when all of it is confirmed, and not before"
_PROVIDED: Final = compiled(
    r"(?:前提是|如果|假如|只有|除非|确保|确认|直到|等待|[若当待须]|需要?)[^，。；！？]{0,6}$|(?:前提是|除非)[^，。；！？]{0,14}$"
)
_FOLLOWS: Final = compiled(
    r"[^，。；！？]{1,16}会(?:同时|一并|连带|自动)"
)  # "deleting it deletes what is below as well"
_WISH: Final = compiled(r"[-*>#\d. ]*(?:如需|如果(?:您|你)?(?:想|需要|希望)|若(?:要|需)|欢迎)")
_HEADER: Final = compiled(r"authorization|请求头|x-api-key|bearer")
_UNLESS_ASKED: Final = compiled(r"除非(?:用户|您|你)?(?:明确|主动|特别)?(?:要求|请求|询问)")
_STYLE: Final = compiled(
    r"不要提[及到](?:任何|具体|这些)?[^，。；！？]{0,12}(?:技术|错误|数据库|模板|示例|算法|内部|实现|代码|术语|名称)|不要提[及到][^，。；！？]{0,24}术语"
)


def is_han(text: str, start: int) -> bool:
    """True for a word of a Chinese sentence; Japanese sentences hold kana."""
    return bool(_HAN.match(text, start) or text.startswith(_SEND, start + 1)) and _KANA.search(text) is None


def is_told_in_chinese(text: str, start: int, end: int) -> bool:
    """True when the word at ``text[start:end]`` of a Chinese sentence is an order to the reader."""
    start += text.startswith(_SEND, start + 1)
    clause = _CLAUSE.split(text[max(0, start - _REACH) : start])[-1]
    if any(pattern.search(clause) for pattern in (_NEVER, _ONLY, _POSSIBLE, _PROVIDED)):
        return False
    if (
        _NOUN.match(text, end)
        or _TO_THE_USER.match(text, end)
        or _TO_HERE.match(text, end)
        or _STYLE.match(text, start)
    ):
        return False
    if _ONLY_THEN.match(text, end):
        return False
    if _UNLESS_ASKED.search(text, 0, start) or _WISH.match(text) or _FOLLOWS.match(text, end):
        return False
    to_you = _TOLD_TO_YOU.search(text, 0, start) is not None
    if not to_you and (_DESCRIBED.search(clause) or _OF_THE_TOOL.search(text, 0, start)):
        return False
    asks = _REQUEST.match(text, end) is not None or "请求" in clause
    signed = _AUTHENTICATED.search(text) is not None or (_HEADER.search(text) and not _DATA.search(text))
    return not (asks and (signed or not _PRIVATE.search(text)))
